"""Services that answer at once from memory, whatever is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

import anyio

from application.feedback.ports import (
    EntryFilter,
    EntryPage,
    EscalationFilter,
    EscalationPage,
    FeedbackStore,
    Miss,
    MissStore,
    Outbox,
)
from application.feedback.queries import ReadMetrics
from application.feedback.report import Report
from application.incorporator.explain import Candidate, ExplainMatch, Explanation
from application.incorporator.invoke import Invoke
from application.learner.inject import InjectLessons
from application.learner.ports import LessonFilter, LessonPage, LessonStore, LogPage, QueuePage
from application.learner.review import EraseLesson, ReviewCommand, ReviewLesson
from application.learner.search import Found, SearchLessons, SearchResult
from application.shared.ports import IdempotencyRecord
from domain.errors import InvalidInput, NoMatch, NoSelection, UnknownEntry, UnknownEscalation, UnknownLesson
from domain.feedback.entry import FeedbackEntry, OutcomeReport
from domain.feedback.escalation import Escalation
from domain.feedback.metrics import Counters
from domain.incorporator.outcome import ApplierOutcome
from domain.incorporator.query import QueryInput
from domain.learner.lesson import Bin, Lesson, LessonDraft, decide
from domain.learner.log import Event, Flag, LogEntry, QueuedLesson
from domain.learner.ranking import SearchHit
from entrypoints.http.services import Check, IncorporatorServices, LearnerServices
from tests.unit.http.examples import (
    COPY,
    ENTRY,
    ENTRY_ID,
    ESCALATION,
    ESCALATION_ID,
    LESSON,
    LESSON_ID,
    MATCH,
    NOW,
    OUTCOME,
)


class StubClock:
    def now(self) -> datetime:
        return NOW


@dataclass
class Stub:
    """Records what the handlers ask. `fault` is raised by every use case; `delay_s` passes before every answer."""

    asked: list[Any] = field(default_factory=list)
    fault: Exception | None = None
    delay_s: float = 0.0
    woken: int = 0
    checks: Sequence[Check] = (Check(name="object_store"),)
    degraded: str | None = None

    async def _met(self, *asked: Any) -> None:
        self.asked.append(asked)
        if self.delay_s:
            await anyio.sleep(self.delay_s)
        if self.fault is not None:
            raise self.fault

    async def invoke(self, query: QueryInput, request: IdempotencyRecord | None = None) -> ApplierOutcome:
        await self._met(query, request)
        if query.problem_type == "unknown":
            raise NoMatch("no promoted lesson applies")
        return OUTCOME

    async def explain(self, query: QueryInput, *, with_llm: bool = False) -> Explanation:
        await self._met(query, with_llm)
        one = Candidate(lesson_id=LESSON_ID, bin=Bin.SKILLS, title="t", score=1.0, similarity=0.5, text_match=True)
        return Explanation(match=MATCH, rule=None, candidates=[one], notes=[])

    async def report(self, report: OutcomeReport, request: IdempotencyRecord | None = None) -> FeedbackEntry:
        await self._met(report, request)
        if report.session_id == "unknown":
            raise NoSelection("invoke was never called for this step and session")
        return ENTRY

    async def most_frequent(self, limit: int) -> Sequence[Miss]:
        await self._met(limit)
        return [Miss(problem_type="p", count=2, last_at=NOW)]

    async def counters(self, lesson_id: str | None = None) -> Mapping[str, Counters]:
        await self._met(lesson_id)
        return {LESSON_ID: Counters(usage_count=6, success=2, failure=1)}

    async def inject(
        self, drafts: Sequence[LessonDraft], *, actor: str, request: IdempotencyRecord | None = None
    ) -> list[Lesson]:
        await self._met(drafts, actor, request)
        return [LESSON for _ in drafts]

    async def review(self, command: ReviewCommand) -> Lesson:
        await self._met(command)
        if command.lesson_id != LESSON_ID:
            raise UnknownLesson("no lesson has this id")
        return decide(LESSON, command.decision, at=NOW, edit=command.edit, version=command.version)

    async def erase(self, lesson_id: str, *, actor: str) -> None:
        await self._met(lesson_id, actor)
        if lesson_id != LESSON_ID:
            raise UnknownLesson("no lesson has this id")

    async def search(self, query: str, bin: Bin | None, limit: int) -> SearchResult:
        await self._met(query, bin, limit)
        hit = SearchHit(lesson_id=LESSON_ID, bin=Bin.SKILLS, title="t", score=1.0, text_match=True, similarity=0.5)
        return SearchResult(found=[Found(hit=hit, copy=COPY)], degraded=self.degraded)

    async def readiness(self) -> Sequence[Check]:
        return self.checks

    def wake(self) -> None:
        self.woken += 1


class StubLessons:
    def __init__(self, stub: Stub) -> None:
        self._stub = stub

    async def get(self, lesson_id: str) -> Lesson:
        await self._stub._met(lesson_id)
        if lesson_id != LESSON_ID:
            raise UnknownLesson("no lesson has this id")
        return LESSON

    async def page(self, where: LessonFilter, limit: int, cursor: str | None) -> LessonPage:
        await self._stub._met(where, limit, cursor)
        return LessonPage(lessons=[LESSON] * limit, next_cursor=None if cursor else "n/x=t")

    async def log_page(self, lesson_id: str, limit: int = 1_000, cursor: str | None = None) -> LogPage:
        await self.get(lesson_id)
        entry = LogEntry(lesson_id=LESSON_ID, event=Event.INJECTED, at=NOW, actor="local", detail={})
        return LogPage(entries=[entry], next_cursor=None)

    async def queue(self, limit: int = 1_000, cursor: str | None = None) -> QueuePage:
        await self._stub._met(limit, cursor)
        flag = Flag(reason="3 failed", feedback_entry_id=ENTRY_ID, failure_count=3, feedback={"failure": 3})
        waiting = [
            (LESSON, QueuedLesson(lesson_id=LESSON_ID, reason="injected", flag=None)),
            (LESSON, QueuedLesson(lesson_id=LESSON_ID, reason="3 failed", flag=flag)),
        ]
        return QueuePage(waiting=waiting, next_cursor=None)


class StubFeedback:
    def __init__(self, stub: Stub) -> None:
        self._stub = stub

    async def get(self, entry_id: str) -> FeedbackEntry:
        await self._stub._met(entry_id)
        if entry_id != ENTRY_ID:
            raise UnknownEntry("no feedback entry has this id")
        return ENTRY

    async def page(self, where: EntryFilter, limit: int, cursor: str | None) -> EntryPage:
        await self._stub._met(where, limit, cursor)
        if cursor == "bad":
            raise InvalidInput("this cursor is none of ours")
        return EntryPage(entries=[ENTRY] * limit, next_cursor=None if cursor else "next")

    async def counters(self, lesson_id: str | None = None) -> Mapping[str, Counters]:
        return await self._stub.counters(lesson_id)


class StubOutbox:
    def __init__(self, stub: Stub) -> None:
        self._stub = stub

    async def get(self, escalation_id: str) -> Escalation:
        await self._stub._met(escalation_id)
        if escalation_id != ESCALATION_ID:
            raise UnknownEscalation("no escalation has this id")
        return ESCALATION

    async def page(self, where: EscalationFilter, limit: int, cursor: str | None) -> EscalationPage:
        await self._stub._met(where, limit, cursor)
        return EscalationPage(escalations=[ESCALATION] * limit, next_cursor=None if cursor else "next")

    async def retry(self, escalation_id: str, now: datetime) -> Escalation:
        return await self.get(escalation_id)


def learner_services(stub: Stub) -> LearnerServices:
    return LearnerServices(
        inject=cast("InjectLessons", stub.inject),
        review=cast("ReviewLesson", stub.review),
        erase=cast("EraseLesson", stub.erase),
        search=cast("SearchLessons", stub.search),
        lessons=cast("LessonStore", StubLessons(stub)),
        clock=StubClock(),
    )


def incorporator_services(stub: Stub) -> IncorporatorServices:
    feedback = cast("FeedbackStore", StubFeedback(stub))
    return IncorporatorServices(
        invoke=cast("Invoke", stub.invoke),
        explain=cast("ExplainMatch", stub.explain),
        misses=cast("MissStore", stub),
        report=cast("Report", stub.report),
        feedback=feedback,
        metrics=ReadMetrics(store=feedback),
        outbox=cast("Outbox", StubOutbox(stub)),
        wake=stub.wake,
        clock=StubClock(),
    )
