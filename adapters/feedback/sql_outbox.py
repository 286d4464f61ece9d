"""The outbox on SQLAlchemy. A row is claimed by a conditional UPDATE with owner and lease.

`SKIP LOCKED` is not used: TiDB takes no lock on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, RowMapping, and_, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from adapters.feedback.pruning import delete_portions
from adapters.feedback.rows import Row, escalation_of, outbox_row
from adapters.sql.cursors import Cursors
from adapters.sql.database import Database
from adapters.sql.tables import escalations as table
from application.feedback.ports import EscalationFilter, EscalationPage, Outbox
from domain.errors import Conflict, UnknownEscalation
from domain.feedback.escalation import LONGEST_WAIT_S, Escalation, Path, State

_CURSORS = Cursors("escalations")
_PENDING = State.PENDING.value
_DONE = (State.DELIVERED, State.SUPERSEDED)
_SETTLED = [State.DELIVERED.value, State.SUPERSEDED.value, State.FAILED.value]
_NO_LEASE: Row = {"lease_owner": None, "lease_until": None}


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
        owners = [owner, _retried(owner)] if escalation.state in _DONE else [owner]
        pending = and_(table.c.id == escalation.id, table.c.state == _PENDING)
        result = {
            "state": escalation.state.value,
            "attempts": escalation.attempts,
            "last_error": escalation.last_error,
            "next_attempt_at": escalation.next_attempt_at,
            "delivered_at": escalation.delivered_at,
        }
        settled = update(table).where(pending, table.c.lease_owner.in_(owners)).values(**result, **_NO_LEASE)
        ended = (
            update(table)
            .where(pending, table.c.lease_owner == _retried(owner))
            .values(last_error=escalation.last_error, **_NO_LEASE)
        )

        def work(connection: Connection) -> bool:
            if connection.execute(settled).rowcount == 1:
                return True
            connection.execute(ended)
            return False

        return await self._database.write(work)

    async def release(self, owner: str) -> None:
        if not self._database.is_open:  # it leased nothing
            return
        held = and_(table.c.state == _PENDING, table.c.lease_owner.in_([owner, _retried(owner)]))
        found = select(table.c.id).where(held).limit(1)
        if await self._database.read(lambda connection: connection.execute(found).first()) is None:
            return  # nobody is kept waiting for a transaction that changes nothing
        statement = update(table).where(held).values(**_NO_LEASE)
        await self._database.write(lambda connection: connection.execute(statement))

    async def get(self, escalation_id: str) -> Escalation:
        return await self._database.read(lambda connection: escalation_of(_row(connection, escalation_id)))

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
            row = _row(connection, escalation_id, lock=True)
            found = escalation_of(row)
            if found.state in _DONE:
                raise Conflict(f"escalation {escalation_id} is {found.state.value}: there is nothing to retry")
            again = msgspec.structs.replace(found, state=State.PENDING, attempts=0, next_attempt_at=now)
            statement = update(table).where(table.c.id == escalation_id)
            due = statement.values(state=_PENDING, attempts=0, next_attempt_at=now, **_lease_after_retry(row, now))
            connection.execute(due)
            return again

        return await self._database.write(work)

    async def prune(self, before: datetime, limit: int) -> int:
        """A settled row's next attempt, which is none, was set to the moment when it was settled."""
        old = and_(
            table.c.state.in_(_SETTLED),
            table.c.path.in_([path.value for path in Path]),  # for the index's sake
            table.c.next_attempt_at < before,
        )
        found = select(table.c.id).where(old).limit(limit)
        ids = await self._database.read(lambda connection: connection.execute(found).scalars().all())
        return await delete_portions(self._database, table.c.id, ids, old)

    async def oldest_pending(self) -> datetime | None:
        statement = select(func.min(table.c.created_at)).where(table.c.state == _PENDING)
        return await self._database.read(lambda connection: connection.execute(statement).scalar())

    async def check_writes(self) -> None:
        await self._database.check_writes()


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


def _row(connection: Connection, escalation_id: str, *, lock: bool = False) -> RowMapping:
    statement = select(table).where(table.c.id == escalation_id)
    row = connection.execute(statement.with_for_update() if lock else statement).mappings().first()
    if row is None:
        raise UnknownEscalation(f"there is no escalation {escalation_id!r}")
    return row


def _retried(owner: str) -> str:
    """Who holds a row that was to be retried while its owner made an attempt: only a delivery is still to count."""
    return f"{owner} (retried)"


def _lease_after_retry(row: RowMapping, now: datetime) -> Row:
    """The lease runs on, so that nobody else makes an attempt beside the one that is under way."""
    owner, until = row["lease_owner"], row["lease_until"]
    if owner is None or until <= now:
        return _NO_LEASE
    return {"lease_owner": owner if owner.endswith(_retried("")) else _retried(owner)}
