"""The feedback database on SQLAlchemy: entries, counters and idempotency records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, delete, func, select

from adapters.feedback.batch import REQUESTS, Command, Result, carry_out
from adapters.feedback.rows import counters_of, entry_of
from adapters.sql.cursors import decode_number, encode_cursor
from adapters.sql.database import Database
from adapters.sql.group_commit import GroupCommit
from adapters.sql.tables import feedback_entries, lesson_counters
from application.feedback.ports import EntryFilter, EntryPage, FeedbackStore, RecordSelection, Reported, ReportOutcome
from application.shared.ports import IdempotencyRecord, IdFactory
from domain.errors import UnknownEntry
from domain.feedback.entry import FeedbackEntry
from domain.feedback.metrics import Counters

_entries = feedback_entries
_counters = lesson_counters


class SqlFeedbackStore(FeedbackStore):
    def __init__(self, *, database: Database, new_id: IdFactory) -> None:
        self._database = database
        self._commit: GroupCommit[Command, Result] = GroupCommit(
            database, lambda connection, commands: carry_out(connection, commands, new_id)
        )

    async def record(self, command: RecordSelection) -> bytes | None:
        result = await self._commit.submit(command)
        return result if isinstance(result, bytes) else None

    async def report(self, command: ReportOutcome) -> Reported:
        result = await self._commit.submit(command)
        if not isinstance(result, Reported):
            raise TypeError(f"a report was answered with {type(result).__name__}")
        return result

    async def answered(self, request: IdempotencyRecord) -> bytes | None:
        answer = (await self._database.read(lambda connection: REQUESTS.answers(connection, [request])))[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get(self, entry_id: str) -> FeedbackEntry:
        statement = select(_entries).where(_entries.c.id == entry_id)
        row = await self._database.read(lambda connection: connection.execute(statement).mappings().first())
        if row is None:
            raise UnknownEntry(f"there is no feedback entry {entry_id!r}")
        return entry_of(row)

    async def page(self, where: EntryFilter, limit: int, cursor: str | None) -> EntryPage:
        statement = select(_entries).order_by(_entries.c.seq.desc()).limit(limit + 1)
        if where.lesson_skill_id is not None:
            statement = statement.where(_entries.c.lesson_skill_id == where.lesson_skill_id)
        if where.session_id is not None:
            statement = statement.where(_entries.c.session_id == where.session_id)
        if where.result_flag is not None:
            statement = statement.where(_entries.c.result_flag == where.result_flag.value)
        if cursor is not None:
            statement = statement.where(_entries.c.seq < decode_number(cursor))
        rows = await self._database.read(lambda connection: connection.execute(statement).mappings().all())
        more = len(rows) > limit
        return EntryPage(
            entries=[entry_of(row) for row in rows[:limit]],
            next_cursor=encode_cursor(str(rows[limit - 1]["seq"])) if more else None,
        )

    async def counters(self, lesson_id: str | None = None) -> Mapping[str, Counters]:
        sums = [func.sum(_counters.c[name]).label(name) for name in Counters.__struct_fields__]
        statement = select(_counters.c.lesson_id, *sums).group_by(_counters.c.lesson_id)
        if lesson_id is not None:
            statement = statement.where(_counters.c.lesson_id == lesson_id)
        rows = await self._database.read(lambda connection: connection.execute(statement).mappings().all())
        return {row["lesson_id"]: counters_of(row) for row in rows}

    async def round_counters(self, lesson_id: str, review_round: int) -> Counters:
        statement = select(_counters).where(
            _counters.c.lesson_id == lesson_id, _counters.c.review_round == review_round
        )
        row = await self._database.read(lambda connection: connection.execute(statement).mappings().first())
        return counters_of(row) if row is not None else Counters()

    async def prune(self, before: datetime, limit: int) -> int:
        def work(connection: Connection) -> int:
            old = select(_entries.c.seq).where(_entries.c.updated_at < before).order_by(_entries.c.seq).limit(limit)
            numbers = list(connection.execute(old).scalars())
            if numbers:
                connection.execute(delete(_entries).where(_entries.c.seq.in_(numbers)))
            return len(numbers)

        return await self._database.write(work)

    async def forget_requests(self, before: datetime) -> None:
        await self._database.write(lambda connection: REQUESTS.forget_older(connection, before))
