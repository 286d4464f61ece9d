"""The object store on SQLAlchemy: lessons, logs, promoted copies, embeddings and the catalog revision."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from adapters.lessons.catalog_rows import changes_since, copies, current_revision, demote, promote, put_vectors
from adapters.lessons.log_rows import log_page
from adapters.lessons.review_queue import queue_page
from adapters.lessons.rows import lesson_of, lesson_row, log_row
from adapters.lessons.statements import (
    ADD_LOG,
    CHANGE_LESSON,
    CHANGED_FIELDS,
    LESSON,
    LESSON_COLUMNS,
    LOCKED_LESSON,
)
from adapters.sql.cursors import Cursors
from adapters.sql.database import Database
from adapters.sql.dialects import has_item, holds
from adapters.sql.requests import Kept, Requests
from adapters.sql.statements import Prepared
from adapters.sql.tables import (
    applied_escalations,
    lesson_log,
    lesson_requests,
    lesson_vectors,
    lessons,
)
from application.learner.ports import (
    CatalogDelta,
    CatalogItem,
    LessonChange,
    LessonFilter,
    LessonPage,
    LessonStore,
    LogPage,
    QueuePage,
)
from application.shared.ports import IdempotencyRecord
from domain.errors import MemoryGridError, RequestInProgress, UnknownLesson
from domain.learner.lesson import Lesson, PromotedLesson
from domain.learner.log import LogEntry
from domain.learner.ranking import normalised

_REQUESTS = Requests(lesson_requests)
_CURSORS = Cursors("lessons")


class SqlLessonStore(LessonStore):
    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def get(self, lesson_id: str) -> Lesson:
        return await self._database.read(lambda connection: _get(connection, lesson_id))

    async def page(self, where: LessonFilter, limit: int, cursor: str | None) -> LessonPage:
        statement = select(*LESSON_COLUMNS).order_by(lessons.c.id.desc()).limit(limit + 1)
        if where.status is not None:
            statement = statement.where(lessons.c.status == where.status.value)
        if where.bin is not None:
            statement = statement.where(lessons.c.bin == where.bin.value)
        if cursor is not None:
            statement = statement.where(lessons.c.id < _CURSORS.id(cursor))

        def work(connection: Connection) -> list[Lesson]:
            conditions = [] if where.tag is None else [has_item(connection, lessons.c.tags, where.tag)]
            if where.text is not None:
                conditions.append(holds(connection, lessons.c.folded, normalised(where.text)))
            return [lesson_of(row) for row in connection.execute(statement.where(*conditions))]

        found = await self._database.read(work)
        more = len(found) > limit
        return LessonPage(lessons=found[:limit], next_cursor=_CURSORS.encode(found[limit - 1].id) if more else None)

    async def log_page(self, lesson_id: str, limit: int = 1_000, cursor: str | None = None) -> LogPage:
        return await self._database.read(partial(log_page, lesson_id=lesson_id, limit=limit, cursor=cursor))

    async def queue(self, limit: int = 1_000, cursor: str | None = None) -> QueuePage:
        return await self._database.read(partial(queue_page, limit=limit, cursor=cursor))

    async def add(self, changes: Sequence[LessonChange], request: IdempotencyRecord | None = None) -> bytes | None:
        requests = [request] if request else []

        def work(connection: Connection) -> bytes | None:
            kept = _REQUESTS.look_up(connection, requests)
            earlier = _answer(kept)
            if earlier is None:
                connection.execute(insert(lessons), [lesson_row(one.lesson) for one in changes])
                connection.execute(insert(lesson_log), [log_row(entry) for one in changes for entry in one.log])
                _REQUESTS.store(connection, requests, kept.expired)
            return earlier

        try:
            return await self._database.write(work)
        except IntegrityError as error:
            if request is None:
                raise
            earlier = await self.answered(request)
            if earlier is None:
                raise RequestInProgress("the same request is being worked on: try again with the same key") from error
            return earlier

    async def answered(self, request: IdempotencyRecord) -> bytes | None:
        return await self._database.read(lambda connection: _answer(_REQUESTS.look_up(connection, [request])))

    async def forget_requests(self, before: datetime) -> None:
        await _REQUESTS.forget_older(self._database, before)

    async def change(self, change: LessonChange) -> bool:
        return await self._database.write(lambda connection: _change(connection, change))

    async def escalation_applied(self, escalation_id: str) -> bool:
        return await self._database.read(lambda connection: _is_applied(connection, escalation_id))

    async def erase(self, lesson_id: str, entry: LogEntry) -> None:
        def work(connection: Connection) -> None:
            _get(connection, lesson_id, LOCKED_LESSON)
            connection.execute(delete(lessons).where(lessons.c.id == lesson_id))
            demote(connection, lesson_id)
            connection.execute(update(lesson_log).where(lesson_log.c.lesson_id == lesson_id).values(detail={}))
            connection.execute(insert(lesson_log), [log_row(entry)])
            _REQUESTS.blank_mentions(connection, lesson_id)

        await self._database.write(work)

    async def copies(self, lesson_ids: Sequence[str]) -> dict[str, PromotedLesson]:
        if not lesson_ids:
            return {}
        return await self._database.read(lambda connection: copies(connection, lesson_ids))

    async def revision(self) -> int:
        return await self._database.read(current_revision)

    async def check_writes(self) -> None:
        await self._database.check_writes()

    async def changes_since(self, revision: int, embedder: str, limit: int) -> CatalogDelta:
        return await self._database.read(lambda connection: changes_since(connection, revision, embedder, limit))

    async def put_vectors(self, embedded: Sequence[CatalogItem]) -> None:
        if embedded:
            await self._database.write(lambda connection: put_vectors(connection, embedded))

    async def forget_vectors(self, keep: str) -> None:
        statement = delete(lesson_vectors).where(lesson_vectors.c.embedder != keep)
        await self._database.write(lambda connection: connection.execute(statement))

    async def embedders(self) -> Sequence[tuple[str, int]]:
        statement = select(lesson_vectors.c.embedder, func.max(lesson_vectors.c.dimension)).group_by(
            lesson_vectors.c.embedder
        )
        rows = await self._database.read(lambda connection: connection.execute(statement).all())
        return [(name, dimension) for name, dimension in rows]


def _get(connection: Connection, lesson_id: str, statement: Prepared = LESSON) -> Lesson:
    rows = statement.fetch(connection, (lesson_id,))
    if not rows:
        raise UnknownLesson(f"there is no lesson {lesson_id!r}")
    return lesson_of(rows[0])


def _answer(kept: Kept) -> bytes | None:
    for answer in kept.answers:
        if isinstance(answer, MemoryGridError):
            raise answer
        return answer
    return None


def _is_applied(connection: Connection, escalation_id: str) -> bool:
    statement = select(applied_escalations.c.lesson_id).where(applied_escalations.c.escalation_id == escalation_id)
    return connection.execute(statement).first() is not None


def _change(connection: Connection, change: LessonChange) -> bool:
    lesson = change.lesson
    present = LOCKED_LESSON.fetch(connection, (lesson.id,))
    if not present or lesson_of(present[0]) != change.expected:
        return False
    if change.escalation_id is not None and _is_applied(connection, change.escalation_id):
        return False
    row = lesson_row(lesson)
    CHANGE_LESSON.run(connection, [lesson.id, *(row[name] for name in CHANGED_FIELDS)])
    ADD_LOG.run_many(connection, [[*log_row(entry).values()] for entry in change.log])
    if change.escalation_id is not None:
        applied = {"escalation_id": change.escalation_id, "lesson_id": lesson.id, "at": change.log[0].at}
        connection.execute(insert(applied_escalations), [applied])
    if change.promote is not None:
        promote(connection, change.promote, change.vectors)
    elif change.deletes_copy:
        demote(connection, lesson.id)
    return True
