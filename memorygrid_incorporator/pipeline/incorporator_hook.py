"""The hook client: how a host's pipeline asks for a lesson, and reports how following it went.

    hook = IncorporatorHookClient("http://localhost:8001")

    async with hook.step(session_id="s1", problem_solving_step_ref="step-17", problem_type="flaky_upload") as step:
        if step.outcome is not None:
            await execute(step.outcome.action, step.outcome.instruction)

`SyncIncorporatorHookClient` is the same for code without an event loop. Both need httpx and msgspec, nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Literal, TypeVar, overload

import httpx

from memorygrid_incorporator.pipeline.bodies import NotSendable
from memorygrid_incorporator.pipeline.calls import RAISE, Calls, NoMatch
from memorygrid_incorporator.pipeline.exchange import Exchange, RetryPolicy
from memorygrid_incorporator.pipeline.loops import ClientPerLoop, within
from memorygrid_incorporator.pipeline.step import Step, hiding_nothing
from memorygrid_incorporator.pipeline.sync_hook import SyncIncorporatorHookClient
from memorygrid_incorporator.pipeline.wire import (
    ApplierOutcome,
    FailureClass,
    FeedbackEntry,
    InvokeBody,
    MatchResult,
    OutcomeBody,
)

__all__ = [
    "ApplierOutcome",
    "FailureClass",
    "FeedbackEntry",
    "IncorporatorHookClient",
    "MatchResult",
    "NotSendable",
    "Step",
    "SyncIncorporatorHookClient",
]

Answer = TypeVar("Answer")
Default = TypeVar("Default")


class IncorporatorHookClient:
    """The Incorporator, for pipelines on asyncio.

    Every call carries an idempotency key, and is sent again with the same key when its connection is lost or the
    service turns it away (429, 502, 503), at most `attempts` times and for `timeout_s` seconds in all: what is asked
    or reported once counts once. Whatever goes wrong with a call is an `httpx.HTTPError`: `HTTPStatusError` where the
    answer is an error (the message holds the service's explanation), `TransportError` where none came in time, and
    `DecodingError` where it is not what was documented. Arguments that JSON cannot carry raise `NotSendable` before
    anything is sent; a report's `detail` alone never keeps its outcome from being reported.

    One client serves any number of tasks, event loops and threads, one after the other or side by side. It can be
    closed (`aclose()` or `async with`, and opens again when it is used again), but need not be: its connections end
    with their loop.

    `base_url` is http(s)://host[:port][/prefix]. `api_key` falls back to the environment's MG_API_KEY. The n-th pause
    before a retry is about `backoff_s` * 2^(n-1) seconds, or what Retry-After asks, and at most `max_pause_s`.
    `client` is the caller's own, for proxies, certificates and the like: it is used as it is and never closed.
    Raises `ValueError` for an address, a key or a number that cannot be used.
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
        client: httpx.AsyncClient | None = None,
    ) -> None:
        policy = RetryPolicy(timeout_s=timeout_s, attempts=attempts, backoff_s=backoff_s, max_pause_s=max_pause_s)
        calls = Calls(base_url, api_key=api_key, policy=policy)
        self._calls = calls
        self._callers_client = client
        self._own_clients = ClientPerLoop(lambda: httpx.AsyncClient(verify=calls.tls))
        self._reports: set[asyncio.Task[FeedbackEntry]] = set()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._calls.base_url)!r})"

    async def __aenter__(self) -> IncorporatorHookClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Wait for the reports that cancelled steps have left under way, then close this loop's connections."""
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(task for task in self._reports if task.get_loop() is loop), return_exceptions=True)
        await self._own_clients.aclose()

    @overload
    async def invoke(
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
    async def invoke(
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

    async def invoke(
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
        """Ask which action to take at this step; the service keeps the selection and waits for its outcome.

        `on_no_match` is what to answer when no lesson applies, for example None; without it that raises
        `httpx.HTTPStatusError` with the response's status 404. The contexts hold whatever msgspec can encode: also
        dates, UUIDs, dataclasses and the like. A NaN, an infinity or any other object in them raises `NotSendable`,
        which names the field, whatever `on_no_match` says.
        """
        body = InvokeBody(
            session_id=session_id,
            problem_solving_step_ref=problem_solving_step_ref,
            problem_type=problem_type,
            current_task_context=current_task_context,
            system_state=system_state,
            additional_caller_data=additional_caller_data,
        )
        return await self._run(self._calls.invoke(body, on_no_match))

    async def report_outcome(
        self,
        step_id: str,
        session_id: str,
        succeeded: bool,
        *,
        outcome_id: str | None = None,
        failure_class: FailureClass | None = None,
        detail: Mapping[str, object] | None = None,
    ) -> FeedbackEntry:
        """Report how the step went, and get the updated feedback entry.

        Updates the latest selection of this step and session, or with `outcome_id` (an `ApplierOutcome.id`) exactly
        that one; a 404 where there is none. A failure counts against the `lesson`, unless `failure_class` is
        `infrastructure`. `detail` is kept with the entry. What cannot be sent of it (a NaN, an object, or all of it
        where the service refuses it) is no reason to report nothing: a text that says so is sent in its place, and a
        warning logged.
        """
        body = OutcomeBody(
            problem_solving_step_ref=step_id,
            session_id=session_id,
            result_flag="success" if succeeded else "failure",
            outcome_id=outcome_id,
            failure_class=failure_class,
            detail=detail,
        )
        return await self._run(self._calls.report(body))

    @asynccontextmanager
    async def step(
        self,
        *,
        session_id: str,
        problem_solving_step_ref: str,
        problem_type: str,
        current_task_context: Mapping[str, object] | None = None,
        system_state: Mapping[str, object] | None = None,
        additional_caller_data: Mapping[str, object] | None = None,
    ) -> AsyncIterator[Step]:
        """Ask for a lesson, run the block, and report how it went: no outcome is forgotten.

        A block that ends has succeeded, one that raises has failed; `Step.succeed` and `Step.fail` decide otherwise.
        The report is about exactly this selection; where no lesson applies there is none. A report that goes wrong
        raises after a block that ended, and is logged after one that raised, whose own error goes on.

        A cancelled block reports a failure of the infrastructure and holds the cancellation back for at most
        2 s; a second cancellation goes on at once, while the report finishes in the background. A block in a generator
        that is closed (`GeneratorExit`) cannot wait: it reports nothing, and its selection stays pending.
        """
        outcome = await self.invoke(
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
                await self._close(self._calls.closing_report(step, error))
            raise
        await self._close(self._calls.closing_report(step))

    async def _close(self, report: Exchange[FeedbackEntry] | None) -> None:
        """Send the report in a task of its own, which a cancellation of the step does not reach."""
        if report is None:
            return
        task = asyncio.create_task(self._run(report))
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)
        await asyncio.shield(task)

    async def _run(self, exchange: Exchange[Answer]) -> Answer:
        while True:
            try:
                response = await self._send(exchange)
            except httpx.TransportError as error:
                pause_s = exchange.pause_after(error)
                if pause_s is None:
                    raise
            else:
                pause_s = exchange.pause_after(response)
                if pause_s is None:
                    return exchange.read(response)
            await asyncio.sleep(pause_s)

    async def _send(self, exchange: Exchange[Answer]) -> httpx.Response:
        client = self._callers_client or await self._own_clients.get()
        request = client.build_request(
            "POST", exchange.url, content=exchange.content, headers=exchange.headers, timeout=exchange.timeout
        )
        return await within(exchange.time_left_s, client.send(request, follow_redirects=False), request)
