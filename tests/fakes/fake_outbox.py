"""The outbox in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from application.feedback.ports import EscalationFilter, EscalationPage, Outbox
from domain.errors import Conflict, UnknownEscalation
from domain.feedback.escalation import LONGEST_WAIT_S, Escalation, Path, State
from tests.fakes.cursors import page
from tests.fakes.reachable import Reachable

_DONE = (State.DELIVERED, State.SUPERSEDED)


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """`retried`: the row was to be retried since it was taken."""

    owner: str
    until: datetime
    retried: bool = False


class FakeOutbox(Reachable, Outbox):
    """See `Reachable` for how it fails."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, Escalation] = {}
        self._leases: dict[str, Lease] = {}

    async def put(self, escalations: Sequence[Escalation], owner: str, leased_until: datetime) -> Sequence[Escalation]:
        await self.reached("put")
        return self.write(escalations, {one.id: Lease(owner=owner, until=leased_until) for one in escalations})

    def write(self, escalations: Sequence[Escalation], leases: dict[str, Lease]) -> list[Escalation]:
        """As `put` does, at once and with a lease for each that has one: for the feedback store's own transaction."""
        known = {_report(one) for one in self._rows.values()}
        new = [one for one in escalations if _report(one) not in known]
        self._rows.update({one.id: one for one in new})
        self._leases.update({one.id: leases[one.id] for one in new if one.id in leases})
        return new

    async def claim(self, path: Path, owner: str, now: datetime, until: datetime, limit: int) -> Sequence[Escalation]:
        await self.reached("claim")
        free = [
            one
            for one in self._rows.values()
            if one.path is path
            and one.state is State.PENDING
            and _reached(one.next_attempt_at, now)
            and (one.id not in self._leases or _reached(self._leases[one.id].until, now))
        ]
        taken = sorted(free, key=lambda one: (one.next_attempt_at, one.id))[:limit]
        self._leases.update({one.id: Lease(owner=owner, until=until) for one in taken})
        return taken

    async def settle(self, escalation: Escalation, owner: str) -> bool:
        await self.reached("settle")
        lease = self._leases.get(escalation.id)
        if lease is None or lease.owner != owner:
            return False
        del self._leases[escalation.id]
        if lease.retried and escalation.state not in _DONE:
            row = self._rows[escalation.id]
            self._rows[escalation.id] = msgspec.structs.replace(row, last_error=escalation.last_error)
            return False
        self._rows[escalation.id] = escalation
        return True

    async def release(self, owner: str) -> None:
        await self.reached("release")
        self._leases = {one: lease for one, lease in self._leases.items() if lease.owner != owner}

    async def get(self, escalation_id: str) -> Escalation:
        await self.reached("get")
        return self._known(escalation_id)

    async def page(self, where: EscalationFilter, limit: int, cursor: str | None) -> EscalationPage:
        await self.reached("page")
        rows = [(at, one) for at, one in enumerate(self._rows.values()) if _fits(one, where)]
        escalations, following = page(rows, limit, cursor)
        return EscalationPage(escalations=escalations, next_cursor=following)

    async def retry(self, escalation_id: str, now: datetime) -> Escalation:
        await self.reached("retry")
        row = self._known(escalation_id)
        if row.state in _DONE:
            raise Conflict(f"the escalation {escalation_id} is {row.state.value} already")
        again = msgspec.structs.replace(row, state=State.PENDING, attempts=0, next_attempt_at=now)
        self._rows[escalation_id] = again
        lease = self._leases.pop(escalation_id, None)
        if lease is not None and not _reached(lease.until, now):
            self._leases[escalation_id] = msgspec.structs.replace(lease, retried=True)
        return again

    async def prune(self, before: datetime, limit: int) -> int:
        await self.reached("prune")
        settled = [one.id for one in self._rows.values() if one.state is not State.PENDING]
        old = [one for one in settled if self._rows[one].next_attempt_at < before][:limit]
        for one in old:
            del self._rows[one]
        return len(old)

    async def oldest_pending(self) -> datetime | None:
        await self.reached("oldest_pending")
        return min((one.created_at for one in self._rows.values() if one.state is State.PENDING), default=None)

    def _known(self, escalation_id: str) -> Escalation:
        if escalation_id not in self._rows:
            raise UnknownEscalation(f"no escalation has the id {escalation_id!r}")
        return self._rows[escalation_id]


def _reached(moment: datetime, now: datetime) -> bool:
    return moment <= now or moment > now + timedelta(seconds=LONGEST_WAIT_S)


def _report(escalation: Escalation) -> tuple[str, int, Path]:
    return escalation.entry_id, escalation.report_number, escalation.path


def _fits(escalation: Escalation, where: EscalationFilter) -> bool:
    return where.lesson_skill_id in (None, escalation.lesson_skill_id) and where.state in (None, escalation.state)
