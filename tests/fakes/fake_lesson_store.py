"""The object store in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from application.learner.ports import (
    CatalogDelta,
    CatalogItem,
    LessonChange,
    LessonFilter,
    LessonPage,
    LessonStore,
    LogPage,
    QueuePage,
    StoredVectors,
)
from application.shared.ports import IdempotencyRecord
from domain.errors import UnknownLesson
from domain.learner.lesson import Lesson, PromotedLesson, Status
from domain.learner.log import Event, Flag, LogEntry, QueuedLesson
from domain.learner.ranking import normalised
from tests.fakes.cursors import page, page_after
from tests.fakes.idempotency import KeptAnswers
from tests.fakes.reachable import Reachable


class FakeLessonStore(Reachable, LessonStore):
    """Every command is carried out in one go, once it has been reached. See `Reachable` for how it fails."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[str, int] = {}
        self._lessons: dict[str, Lesson] = {}
        self._logs: dict[str, list[LogEntry]] = {}
        self._copies: dict[str, PromotedLesson] = {}
        self._vectors: dict[tuple[str, str], StoredVectors] = {}
        self._moved: dict[str, int] = {}
        self._revision = 0
        self._escalations: set[str] = set()
        self._answers = KeptAnswers()

    async def get(self, lesson_id: str) -> Lesson:
        await self.reached("get")
        return self._known(lesson_id)

    async def page(self, where: LessonFilter, limit: int, cursor: str | None) -> LessonPage:
        await self.reached("page")
        rows = [(self._numbers[one.id], one) for one in self._lessons.values() if _fits(one, where)]
        lessons, following = page(rows, limit, cursor)
        return LessonPage(lessons=lessons, next_cursor=following)

    async def log_page(self, lesson_id: str, limit: int = 1_000, cursor: str | None = None) -> LogPage:
        await self.reached("log_page")
        self._known(lesson_id)
        rows = [((f"{number:09}", "log"), entry) for number, entry in enumerate(self._logs[lesson_id])]
        found, following = page_after(rows, limit, cursor)
        return LogPage(entries=found, next_cursor=following)

    async def queue(self, limit: int = 1_000, cursor: str | None = None) -> QueuePage:
        await self.reached("queue")
        waiting = [one for one in self._lessons.values() if one.status is Status.PENDING_REVIEW]
        rows = [((one.updated_at.isoformat(timespec="microseconds"), one.id), one) for one in waiting]
        found, following = page_after(rows, limit, cursor)
        return QueuePage(waiting=[(one, _queued(one.id, self._logs[one.id])) for one in found], next_cursor=following)

    async def add(self, changes: Sequence[LessonChange], request: IdempotencyRecord | None = None) -> bytes | None:
        await self.reached("add")
        earlier = self._answers.find(request)
        if earlier is not None:
            return earlier
        msgspec.json.encode(changes)
        ids = [change.lesson.id for change in changes]
        if len(set(ids)) < len(ids) or any(one in self._lessons for one in ids):
            raise ValueError("two lessons with one id")
        for change in changes:
            self._numbers[change.lesson.id] = len(self._numbers)
            self._store(change)
        self._answers.keep(request)
        return None

    async def answered(self, request: IdempotencyRecord) -> bytes | None:
        await self.reached("answered")
        return self._answers.find(request)

    async def forget_requests(self, before: datetime) -> None:
        await self.reached("forget_requests")
        self._answers.forget_older(before)

    async def change(self, change: LessonChange) -> bool:
        await self.reached("change")
        if self._lessons.get(change.lesson.id) != change.expected or change.escalation_id in self._escalations:
            return False
        self._store(change)
        return True

    async def escalation_applied(self, escalation_id: str) -> bool:
        await self.reached("escalation_applied")
        return escalation_id in self._escalations

    async def erase(self, lesson_id: str, entry: LogEntry) -> None:
        await self.reached("erase")
        self._known(lesson_id)
        del self._lessons[lesson_id]
        self._logs[lesson_id] = [
            *(msgspec.structs.replace(one, detail={}) for one in self._logs[lesson_id]),
            entry,
        ]
        self._remove_copy(lesson_id)
        self._answers.blank_mentions(lesson_id)

    async def copies(self, lesson_ids: Sequence[str]) -> dict[str, PromotedLesson]:
        await self.reached("copies")
        return {one: self._copies[one] for one in lesson_ids if one in self._copies}

    async def revision(self) -> int:
        await self.reached("revision")
        return self._revision

    async def check_writes(self) -> None:
        await self.reached("check_writes")

    async def changes_since(self, revision: int, embedder: str, limit: int) -> CatalogDelta:
        await self.reached("changes_since")
        moved = sorted((at, lesson_id) for lesson_id, at in self._moved.items() if at > revision)
        taken = moved[:limit]
        complete = len(taken) == len(moved)
        return CatalogDelta(
            revision=self._revision if complete else taken[-1][0],
            promoted=[
                CatalogItem(copy=self._copies[one], vectors=self._vectors.get((one, embedder)))
                for _, one in taken
                if one in self._copies
            ],
            removed=[one for _, one in taken if one not in self._copies],
            complete=complete,
        )

    async def put_vectors(self, embedded: Sequence[CatalogItem]) -> None:
        await self.reached("put_vectors")
        for item in embedded:
            if item.vectors is not None and self._copies.get(item.copy.id) == item.copy:
                self._vectors[item.copy.id, item.vectors.embedder] = item.vectors

    async def forget_vectors(self, keep: str) -> None:
        await self.reached("forget_vectors")
        self._vectors = {key: one for key, one in self._vectors.items() if one.embedder == keep}

    async def embedders(self) -> Sequence[tuple[str, int]]:
        await self.reached("embedders")
        return sorted({(one.embedder, one.dimension) for one in self._vectors.values()})

    def _known(self, lesson_id: str) -> Lesson:
        if lesson_id not in self._lessons:
            raise _unknown(lesson_id)
        return self._lessons[lesson_id]

    def _store(self, change: LessonChange) -> None:
        lesson_id = change.lesson.id
        self._lessons[lesson_id] = change.lesson
        self._logs.setdefault(lesson_id, []).extend(change.log)
        if change.escalation_id is not None:
            self._escalations.add(change.escalation_id)
        if change.promote is not None:
            self._forget_vectors(lesson_id)
            self._copies[lesson_id] = change.promote
            self._move(lesson_id)
        elif change.deletes_copy:
            self._remove_copy(lesson_id)
        if change.vectors is not None:
            self._vectors[lesson_id, change.vectors.embedder] = change.vectors

    def _forget_vectors(self, lesson_id: str) -> None:
        self._vectors = {key: one for key, one in self._vectors.items() if key[0] != lesson_id}

    def _remove_copy(self, lesson_id: str) -> None:
        self._forget_vectors(lesson_id)
        if self._copies.pop(lesson_id, None) is not None:
            self._move(lesson_id)

    def _move(self, lesson_id: str) -> None:
        self._revision += 1
        self._moved[lesson_id] = self._revision


def _unknown(lesson_id: str) -> UnknownLesson:
    return UnknownLesson(f"no lesson has the id {lesson_id!r}")


def _fits(lesson: Lesson, where: LessonFilter) -> bool:
    text = normalised(where.text or "")
    return (
        where.status in (None, lesson.status)
        and where.bin in (None, lesson.bin)
        and (where.tag is None or where.tag in lesson.tags)
        and text in normalised(f"{lesson.title}\n{lesson.body}")
    )


def _queued(lesson_id: str, log: Sequence[LogEntry]) -> QueuedLesson:
    flags = [entry.detail for entry in log if entry.event is Event.RUNTIME_FAILURE_FLAGGED]
    flag = msgspec.convert(flags[-1], Flag) if flags else None
    return QueuedLesson(lesson_id=lesson_id, reason=flag.reason if flag else Event.INJECTED.value, flag=flag)
