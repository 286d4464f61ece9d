"""The feedback database on SQLAlchemy: entries, counters and idempotency records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import BigInteger, cast, func, select

from adapters.feedback.batch import REQUESTS, Command, Result, carry_out
from adapters.feedback.counting import counters
from adapters.feedback.pages import CURSORS, newest_first, old_entries
from adapters.feedback.pruning import delete_portions
from adapters.feedback.rows import counters_of, entry_of
from adapters.feedback.statements import COUNTER_FIELDS, ENTRY_FIELDS
from adapters.sql.database import Database
from adapters.sql.group_commit import GroupCommit
from adapters.sql.tables import feedback_entries, lesson_counters
from application.feedback.ports import EntryFilter, EntryPage, FeedbackStore, RecordSelection, Reported, ReportOutcome
from application.shared.ports import IdempotencyRecord, IdFactory
from domain.errors import UnknownEntry
from domain.feedback.entry import FeedbackEntry
from domain.feedback.metrics import Counters


class SqlFeedbackStore(FeedbackStore):
    def __init__(self, *, database: Database, new_id: IdFactory) -> None:
        self._database = database
        self._commit: GroupCommit[Command, Result] = GroupCommit(
            database, lambda connection, commands: carry_out(connection, commands, new_id)
        )
        self._look_up: GroupCommit[IdempotencyRecord, bytes | None] = GroupCommit(
            database, lambda connection, requests: REQUESTS.look_up(connection, requests).answers, writes=False
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
        return await self._look_up.submit(request)

    async def get(self, entry_id: str) -> FeedbackEntry:
        columns = (feedback_entries.c[name] for name in ENTRY_FIELDS)
        statement = select(*columns).where(feedback_entries.c.id == entry_id)
        row = await self._database.read(lambda connection: connection.execute(statement).first())
        if row is None:
            raise UnknownEntry(f"there is no feedback entry {entry_id!r}")
        return entry_of(row)

    async def page(self, where: EntryFilter, limit: int, cursor: str | None) -> EntryPage:
        statement = newest_first(where, limit + 1, None if cursor is None else CURSORS.number(cursor))
        rows = await self._database.read(lambda connection: connection.execute(statement).all())
        more = len(rows) > limit
        return EntryPage(
            entries=[entry_of(row[1:]) for row in rows[:limit]],
            next_cursor=CURSORS.encode(rows[limit - 1].seq) if more else None,
        )

    async def counters(self, lesson_id: str | None = None) -> Mapping[str, Counters]:
        table = lesson_counters.c
        sums = [cast(func.sum(table[name]), BigInteger) for name in COUNTER_FIELDS]
        statement = select(table.lesson_id, *sums).group_by(table.lesson_id)
        if lesson_id is not None:
            statement = statement.where(table.lesson_id == lesson_id)
        rows = await self._database.read(lambda connection: connection.execute(statement).all())
        return {row[0]: counters_of(row[1:]) for row in rows}

    async def round_counters(self, lesson_id: str, review_round: int) -> Counters:
        of_round = (lesson_id, review_round)
        found = await self._database.read(lambda connection: counters(connection, [of_round]))
        return found.get(of_round, Counters())

    async def prune(self, before: datetime, limit: int) -> int:
        numbers = await self._database.read(lambda connection: old_entries(connection, before, limit))
        table = feedback_entries.c
        return await delete_portions(self._database, table.seq, numbers, table.updated_at < before)

    async def forget_requests(self, before: datetime) -> None:
        await REQUESTS.forget_older(self._database, before)
