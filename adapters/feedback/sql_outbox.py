"""The outbox on SQLAlchemy. A row is claimed by a conditional UPDATE with owner and lease.

`SKIP LOCKED` is not used: TiDB takes no lock on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, and_, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from adapters.feedback.rows import escalation_of, outbox_row
from adapters.sql.cursors import Cursors
from adapters.sql.database import Database
from adapters.sql.tables import escalations as table
from application.feedback.ports import EscalationFilter, EscalationPage, Outbox
from domain.errors import Conflict, UnknownEscalation
from domain.feedback.escalation import LONGEST_WAIT_S, Escalation, Path, State

_CURSORS = Cursors("escalations")
_PENDING = State.PENDING.value


class SqlOutbox(Outbox):
    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def put(self, escalations: Sequence[Escalation], owner: str, leased_until: datetime) -> Sequence[Escalation]:
        def work(connection: Connection) -> list[Escalation]:
            new = [one for one in escalations if not _exists(connection, one)]
            if new:
                connection.execute(insert(table), [outbox_row(one, owner, leased_until) for one in new])
            return new

        try:
            return await self._database.write(work)
        except IntegrityError:  # somebody else has just put one of them: now it can be seen
            return await self._database.write(work)

    async def claim(self, path: Path, owner: str, now: datetime, until: datetime, limit: int) -> Sequence[Escalation]:
        free = or_(table.c.lease_until.is_(None), _reached(table.c.lease_until, now))
        attempt = _reached(table.c.next_attempt_at, now)
        due = and_(table.c.state == _PENDING, table.c.path == path.value, attempt, free)
        candidates = select(table).where(due).order_by(table.c.next_attempt_at, table.c.id).limit(limit)
        rows = await self._database.read(lambda connection: connection.execute(candidates).mappings().all())
        if not rows:
            return ()

        def work(connection: Connection) -> list[Escalation]:
            taken = []
            for row in rows:
                claimed = connection.execute(
                    update(table).where(table.c.id == row["id"], due).values(lease_owner=owner, lease_until=until)
                )
                if claimed.rowcount == 1:
                    taken.append(escalation_of(row))
            return taken

        return await self._database.write(work)

    async def settle(self, escalation: Escalation, owner: str) -> bool:
        statement = (
            update(table)
            .where(table.c.id == escalation.id, table.c.state == _PENDING, table.c.lease_owner == owner)
            .values(
                state=escalation.state.value,
                attempts=escalation.attempts,
                last_error=escalation.last_error,
                next_attempt_at=escalation.next_attempt_at,
                delivered_at=escalation.delivered_at,
                lease_owner=None,
                lease_until=None,
            )
        )
        return await self._database.write(lambda connection: connection.execute(statement).rowcount == 1)

    async def get(self, escalation_id: str) -> Escalation:
        return await self._database.read(lambda connection: _get(connection, escalation_id))

    async def page(self, where: EscalationFilter, limit: int, cursor: str | None) -> EscalationPage:
        statement = select(table).order_by(table.c.id.desc()).limit(limit + 1)
        if where.lesson_skill_id is not None:
            statement = statement.where(table.c.lesson_skill_id == where.lesson_skill_id)
        if where.state is not None:
            statement = statement.where(table.c.state == where.state.value)
        if cursor is not None:
            statement = statement.where(table.c.id < _CURSORS.id(cursor))
        rows = await self._database.read(lambda connection: connection.execute(statement).mappings().all())
        more = len(rows) > limit
        return EscalationPage(
            escalations=[escalation_of(row) for row in rows[:limit]],
            next_cursor=_CURSORS.encode(rows[limit - 1]["id"]) if more else None,
        )

    async def retry(self, escalation_id: str, now: datetime) -> Escalation:
        def work(connection: Connection) -> Escalation:
            found = _get(connection, escalation_id, lock=True)
            if found.state not in (State.PENDING, State.FAILED):
                raise Conflict(f"escalation {escalation_id} is {found.state.value}: there is nothing to retry")
            again = msgspec.structs.replace(found, state=State.PENDING, attempts=0, next_attempt_at=now)
            statement = update(table).where(table.c.id == escalation_id)
            connection.execute(statement.values(state=_PENDING, attempts=0, next_attempt_at=now))
            return again

        return await self._database.write(work)

    async def oldest_pending(self) -> datetime | None:
        statement = select(func.min(table.c.created_at)).where(table.c.state == _PENDING)
        return await self._database.read(lambda connection: connection.execute(statement).scalar())


def _reached(column: Column[datetime], now: datetime) -> ColumnElement[bool]:
    """Whether a moment has come; one that is further away than any wait is of a clock that was put back since."""
    return or_(column <= now, column > now + timedelta(seconds=LONGEST_WAIT_S))


def _exists(connection: Connection, escalation: Escalation) -> bool:
    same: ColumnElement[bool] = and_(
        table.c.entry_id == escalation.entry_id,
        table.c.report_number == escalation.report_number,
        table.c.path == escalation.path.value,
    )
    return connection.execute(select(table.c.id).where(same)).first() is not None


def _get(connection: Connection, escalation_id: str, *, lock: bool = False) -> Escalation:
    statement = select(table).where(table.c.id == escalation_id)
    row = connection.execute(statement.with_for_update() if lock else statement).mappings().first()
    if row is None:
        raise UnknownEscalation(f"there is no escalation {escalation_id!r}")
    return escalation_of(row)
