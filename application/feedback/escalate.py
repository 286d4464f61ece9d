"""Escalating a lesson that keeps failing: in-process effects at once, everything else by the dispatcher."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

import anyio

from application.feedback.deliver import LEASE_S, DeliverEscalation
from application.feedback.ports import EscalationTarget, FeedbackStore, Outbox
from application.shared.ports import Clock, IdFactory
from domain.errors import MemoryGridError
from domain.feedback.entry import FeedbackEntry
from domain.feedback.escalation import Escalation, EscalationPolicy, Path, due_escalations

_log = logging.getLogger(__name__)

#: Seconds that a report waits for its in-process effects; the dispatcher finishes what takes longer.
_WAIT_S = 2.0


class Escalate:
    """The Threshold Monitor's hand: brings what is due to its targets."""

    def __init__(
        self,
        *,
        store: FeedbackStore,
        outbox: Outbox,
        policy: EscalationPolicy,
        deliver: DeliverEscalation,
        targets: Mapping[Path, EscalationTarget],
        wake: Callable[[], None],
        clock: Clock,
        new_id: IdFactory,
        owner: str,
    ) -> None:
        self._store = store
        self._outbox = outbox
        self._policy = policy
        self._deliver = deliver
        self._targets = targets
        self._wake = wake
        self._clock = clock
        self._new_id = new_id
        self._owner = owner

    async def start(self, escalations: Sequence[Escalation]) -> None:
        """Carries out the in-process ones, waiting at most 2 s; wakes the dispatcher for the others."""
        in_process = [one for one in escalations if self._targets[one.path].in_process]
        if len(in_process) < len(escalations):
            self._wake()
        with anyio.move_on_after(_WAIT_S):
            await self._carry_out(in_process)

    async def check(self, entry: FeedbackEntry) -> Sequence[Escalation]:
        """Escalates where the entry's last report makes it due, and attempts each target once.

        Idempotent for one report of one entry: the second time nothing is due any more. Raises `StoreUnavailable`.
        """
        now = self._clock.now()
        counters = await self._store.round_counters(entry.lesson_skill_id, entry.review_round)
        due = due_escalations(entry, counters, self._policy, at=now, new_id=self._new_id)
        if not due:
            return ()
        new = await self._outbox.put(due, self._owner, now + timedelta(seconds=LEASE_S))
        return await self._carry_out(new)

    async def _carry_out(self, escalations: Sequence[Escalation]) -> list[Escalation]:
        """One attempt each, side by side: no target waits for another."""
        done: dict[int, Escalation] = {}

        async def attempt(at: int, escalation: Escalation) -> None:
            try:
                done[at] = await self._deliver(escalation)
            except MemoryGridError as error:
                _log.warning("escalation %s will be delivered later: %s", escalation.id, error.detail)
            except Exception:
                _log.exception("escalation %s will be delivered later", escalation.id)

        async with anyio.create_task_group() as group:
            for at, escalation in enumerate(escalations):
                group.start_soon(attempt, at, escalation)
        return [done[at] for at in sorted(done)]
