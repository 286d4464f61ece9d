"""A lesson's log, page by page, oldest first."""

from __future__ import annotations

from sqlalchemy import Connection, select

from adapters.lessons.rows import log_of
from adapters.lessons.statements import LOG_COLUMNS
from adapters.sql.cursors import Cursors
from adapters.sql.tables import lesson_log, lessons
from application.learner.ports import LogPage
from domain.errors import UnknownLesson

_CURSORS = Cursors("log")


def log_page(connection: Connection, *, lesson_id: str, limit: int, cursor: str | None) -> LogPage:
    """Raises `UnknownLesson`, and `InvalidInput` for a cursor that this function has not given out."""
    statement = select(lesson_log.c.seq, *LOG_COLUMNS).where(lesson_log.c.lesson_id == lesson_id)
    if cursor is not None:
        statement = statement.where(lesson_log.c.seq > _CURSORS.number(cursor))
    if connection.execute(select(lessons.c.id).where(lessons.c.id == lesson_id)).first() is None:
        raise UnknownLesson(f"there is no lesson {lesson_id!r}")
    rows = connection.execute(statement.order_by(lesson_log.c.seq).limit(limit + 1)).all()
    return LogPage(
        entries=[log_of(row[1:]) for row in rows[:limit]],
        next_cursor=_CURSORS.encode(rows[limit - 1].seq) if len(rows) > limit else None,
    )
