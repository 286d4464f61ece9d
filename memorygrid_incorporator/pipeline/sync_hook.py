"""The hook client without an event loop: the same methods as `IncorporatorHookClient`, not awaited."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Literal, TypeVar, overload

import httpx

from memorygrid_incorporator.pipeline.calls import RAISE, Calls, NoMatch
from memorygrid_incorporator.pipeline.exchange import Exchange, RetryPolicy
from memorygrid_incorporator.pipeline.step import Step, hiding_nothing
from memorygrid_incorporator.pipeline.wire import (
    ApplierOutcome,
    FailureClass,
    FeedbackEntry,
    InvokeBody,
    OutcomeBody,
)

Answer = TypeVar("Answer")
Default = TypeVar("Default")


class SyncIncorporatorHookClient:
    """The Incorporator, for pipelines without an event loop.

    Parameters, retries and errors are those of `IncorporatorHookClient`. `timeout_s` bounds each wait for the network
    and is checked between them. One client serves any number of threads. It can be closed (`close()` or `with`), which
    is for good: a call after that raises `RuntimeError`, as httpx does. Else its connections end with it. `client` is
    the caller's own: used as it is and never closed.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 35.0,
        attempts: int = 4,
        backoff_s: float = 0.25,
        max_pause_s: float = 5.0,
        client: httpx.Client | None = None,
    ) -> None:
        policy = RetryPolicy(timeout_s=timeout_s, attempts=attempts, backoff_s=backoff_s, max_pause_s=max_pause_s)
        self._calls = Calls(base_url, api_key=api_key, policy=policy)
        self._client = client or httpx.Client(verify=self._calls.tls)
        self._own_client_end = None if client else weakref.finalize(self, self._client.close)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._calls.base_url)!r})"

    def __enter__(self) -> SyncIncorporatorHookClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if self._own_client_end is not None:
            self._own_client_end()

    @overload
    def invoke(
        self,
        *,
        session_id: str,
        problem_solving_step_ref: str,
        problem_type: str,
        current_task_context: Mapping[str, object] | None = None,
        system_state: Mapping[str, object] | None = None,
        additional_caller_data: Mapping[str, object] | None = None,
    ) -> ApplierOutcome: ...

    @overload
    def invoke(
        self,
        *,
        session_id: str,
        problem_solving_step_ref: str,
        problem_type: str,
        current_task_context: Mapping[str, object] | None = None,
        system_state: Mapping[str, object] | None = None,
        additional_caller_data: Mapping[str, object] | None = None,
        on_no_match: Default,
    ) -> ApplierOutcome | Default: ...

    def invoke(
        self,
        *,
        session_id: str,
        problem_solving_step_ref: str,
        problem_type: str,
        current_task_context: Mapping[str, object] | None = None,
        system_state: Mapping[str, object] | None = None,
        additional_caller_data: Mapping[str, object] | None = None,
        on_no_match: Default | Literal[NoMatch.RAISE] = RAISE,
    ) -> ApplierOutcome | Default:
        """Ask which action to take at this step, as `IncorporatorHookClient.invoke` does."""
        body = InvokeBody(
            session_id=session_id,
            problem_solving_step_ref=problem_solving_step_ref,
            problem_type=problem_type,
            current_task_context=current_task_context,
            system_state=system_state,
            additional_caller_data=additional_caller_data,
        )
        return self._run(self._calls.invoke(body, on_no_match))

    def report_outcome(
        self,
        step_id: str,
        session_id: str,
        succeeded: bool,
        *,
        outcome_id: str | None = None,
        failure_class: FailureClass | None = None,
        detail: Mapping[str, object] | None = None,
    ) -> FeedbackEntry:
        """Report how the step went, as `IncorporatorHookClient.report_outcome` does."""
        body = OutcomeBody(
            problem_solving_step_ref=step_id,
            session_id=session_id,
            result_flag="success" if succeeded else "failure",
            outcome_id=outcome_id,
            failure_class=failure_class,
            detail=detail,
        )
        return self._run(self._calls.report(body))

    @contextmanager
    def step(
        self,
        *,
        session_id: str,
        problem_solving_step_ref: str,
        problem_type: str,
        current_task_context: Mapping[str, object] | None = None,
        system_state: Mapping[str, object] | None = None,
        additional_caller_data: Mapping[str, object] | None = None,
    ) -> Iterator[Step]:
        """Ask for a lesson, run the block, and report how it went, as `IncorporatorHookClient.step` does.

        Here Ctrl-C and an exit are what a cancellation is there: a failure of the infrastructure, reported within
        2 s or not at all.
        """
        outcome = self.invoke(
            session_id=session_id,
            problem_solving_step_ref=problem_solving_step_ref,
            problem_type=problem_type,
            current_task_context=current_task_context,
            system_state=system_state,
            additional_caller_data=additional_caller_data,
            on_no_match=None,
        )
        step = Step(session_id=session_id, problem_solving_step_ref=problem_solving_step_ref, outcome=outcome)
        try:
            yield step
        except BaseException as error:
            with hiding_nothing(step):
                self._close(self._calls.closing_report(step, error))
            raise
        self._close(self._calls.closing_report(step))

    def _close(self, report: Exchange[FeedbackEntry] | None) -> None:
        if report is not None:
            self._run(report)

    def _run(self, exchange: Exchange[Answer]) -> Answer:
        while True:
            try:
                response = self._send(exchange)
            except httpx.TransportError as error:
                pause_s = exchange.pause_after(error)
                if pause_s is None:
                    raise
            else:
                pause_s = exchange.pause_after(response)
                if pause_s is None:
                    return exchange.read(response)
            time.sleep(pause_s)

    def _send(self, exchange: Exchange[Answer]) -> httpx.Response:
        return self._client.post(
            exchange.url,
            content=exchange.content,
            headers=exchange.headers,
            timeout=exchange.timeout,
            follow_redirects=False,
        )
