"""Both clients behind one face, so that what holds for one is tested on the other too."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Protocol, TypedDict

from typing_extensions import NotRequired

from memorygrid_incorporator.pipeline.incorporator_hook import (
    ApplierOutcome,
    FailureClass,
    FeedbackEntry,
    IncorporatorHookClient,
    Step,
    SyncIncorporatorHookClient,
)


class Query(TypedDict):
    session_id: str
    problem_solving_step_ref: str
    problem_type: str
    current_task_context: Mapping[str, object]
    system_state: Mapping[str, object]
    additional_caller_data: NotRequired[Mapping[str, object]]


QUERY: Query = {
    "session_id": "s1",
    "problem_solving_step_ref": "step-17",
    "problem_type": "flaky_upload",
    "current_task_context": {"operation": "upload report.pdf"},
    "system_state": {"storage_status": "degraded"},
}


class Caller(Protocol):
    """A pipeline at its step: it blocks until the call is over."""

    @abstractmethod
    def invoke(self) -> ApplierOutcome: ...

    @abstractmethod
    def invoke_or_none(self, query: Query = QUERY) -> ApplierOutcome | None: ...

    @abstractmethod
    def report(
        self,
        succeeded: bool,
        *,
        outcome_id: str | None = None,
        failure_class: FailureClass | None = None,
        detail: Mapping[str, object] | None = None,
    ) -> FeedbackEntry: ...

    @abstractmethod
    def step(self, block: Callable[[Step], object]) -> None:
        """Run the block inside `hook.step(...)`."""


class AsyncCaller(Caller):
    """Each call in an event loop of its own, as with `asyncio.run`."""

    def __init__(self, hook: IncorporatorHookClient) -> None:
        self.hook = hook

    def invoke(self) -> ApplierOutcome:
        return asyncio.run(self.hook.invoke(**QUERY))

    def invoke_or_none(self, query: Query = QUERY) -> ApplierOutcome | None:
        return asyncio.run(self.hook.invoke(**query, on_no_match=None))

    def report(
        self,
        succeeded: bool,
        *,
        outcome_id: str | None = None,
        failure_class: FailureClass | None = None,
        detail: Mapping[str, object] | None = None,
    ) -> FeedbackEntry:
        call = self.hook.report_outcome(
            "step-17", "s1", succeeded, outcome_id=outcome_id, failure_class=failure_class, detail=detail
        )
        return asyncio.run(call)

    def step(self, block: Callable[[Step], object]) -> None:
        async def run() -> None:
            async with self.hook.step(**QUERY) as step:
                block(step)

        asyncio.run(run())


class SyncCaller(Caller):
    def __init__(self, hook: SyncIncorporatorHookClient) -> None:
        self.hook = hook

    def invoke(self) -> ApplierOutcome:
        return self.hook.invoke(**QUERY)

    def invoke_or_none(self, query: Query = QUERY) -> ApplierOutcome | None:
        return self.hook.invoke(**query, on_no_match=None)

    def report(
        self,
        succeeded: bool,
        *,
        outcome_id: str | None = None,
        failure_class: FailureClass | None = None,
        detail: Mapping[str, object] | None = None,
    ) -> FeedbackEntry:
        return self.hook.report_outcome(
            "step-17", "s1", succeeded, outcome_id=outcome_id, failure_class=failure_class, detail=detail
        )

    def step(self, block: Callable[[Step], object]) -> None:
        with self.hook.step(**QUERY) as step:
            block(step)
