"""The review queue: lessons that await review, longest waiting first, each with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, func, or_, select

from adapters.lessons.rows import lesson_of, log_of
from adapters.lessons.statements import LESSON_COLUMNS, LOG_COLUMNS
from adapters.sql.cursors import Cursors
from adapters.sql.tables import lesson_log, lessons
from application.learner.ports import QueuePage
from domain.learner.lesson import Lesson, Status
from domain.learner.log import Event, Flag, LogEntry, QueuedLesson

_CURSORS = Cursors("queue")


def queue_page(connection: Connection, *, limit: int, cursor: str | None) -> QueuePage:
    """Raises `InvalidInput` for a cursor that this function has not given out."""
    statement = select(*LESSON_COLUMNS).where(lessons.c.status == Status.PENDING_REVIEW.value)
    if cursor is not None:
        at, lesson_id = _CURSORS.moment(cursor)
        later = or_(lessons.c.updated_at > at, lessons.c.id > lesson_id)
        statement = statement.where(lessons.c.updated_at >= at, later)
    ordered = statement.order_by(lessons.c.updated_at, lessons.c.id).limit(limit + 1)
    found = [lesson_of(row) for row in connection.execute(ordered)]
    waiting = found[:limit]
    flags = _latest_flags(connection, [lesson.id for lesson in waiting])
    return QueuePage(
        waiting=[(lesson, _queued(lesson, flags.get(lesson.id))) for lesson in waiting],
        next_cursor=_CURSORS.encode_moment(waiting[-1].updated_at, waiting[-1].id) if len(found) > limit else None,
    )


def _latest_flags(connection: Connection, lesson_ids: Sequence[str]) -> dict[str, LogEntry]:
    """The last flag of each of these lessons that has one."""
    if not lesson_ids:
        return {}
    is_flag = lesson_log.c.event == Event.RUNTIME_FAILURE_FLAGGED.value
    latest = (
        select(func.max(lesson_log.c.seq))
        .where(lesson_log.c.lesson_id.in_(lesson_ids), is_flag)
        .group_by(lesson_log.c.lesson_id)
    )
    rows = connection.execute(select(*LOG_COLUMNS).where(lesson_log.c.seq.in_(latest)))
    return {entry.lesson_id: entry for entry in map(log_of, rows)}


def _queued(lesson: Lesson, flagged: LogEntry | None) -> QueuedLesson:
    if flagged is None:
        return QueuedLesson(lesson_id=lesson.id, reason=Event.INJECTED.value, flag=None)
    flag = msgspec.convert(flagged.detail, Flag)
    return QueuedLesson(lesson_id=lesson.id, reason=flag.reason, flag=flag)
