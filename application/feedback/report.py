"""Reporting an outcome: the entry, the lesson's counters and the escalations that are due, in one transaction."""

from __future__ import annotations

from datetime import timedelta

from application.feedback.deliver import LEASE_S
from application.feedback.escalate import Escalate
from application.feedback.ports import FeedbackStore, ReportOutcome
from application.shared.ports import Clock, IdempotencyRecord
from domain.feedback.entry import FeedbackEntry, OutcomeReport
from domain.feedback.escalation import EscalationPolicy


class UpdateFeedback:
    """Records a report and nothing else; whether it escalates is decided by `Escalate.check`.

    Raises `NoSelection`, `StoreUnavailable`, `Overloaded`.
    """

    def __init__(self, *, store: FeedbackStore, clock: Clock, owner: str) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner

    async def __call__(self, report: OutcomeReport) -> FeedbackEntry:
        now = self._clock.now()
        command = ReportOutcome(report=report, at=now, policy=None, owner=self._owner, leased_until=now)
        return (await self._store.report(command)).entry


class Report:
    """Records a report with the escalations that it makes due, then carries the in-process ones out.

    Raises `NoSelection`, `StoreUnavailable`, `Overloaded`, `KeyReused`. A target never makes a report fail.
    """

    def __init__(
        self, *, store: FeedbackStore, policy: EscalationPolicy, escalate: Escalate, clock: Clock, owner: str
    ) -> None:
        self._store = store
        self._policy = policy
        self._escalate = escalate
        self._clock = clock
        self._owner = owner

    async def __call__(self, report: OutcomeReport, request: IdempotencyRecord | None = None) -> FeedbackEntry:
        now = self._clock.now()
        reported = await self._store.report(
            ReportOutcome(
                report=report,
                at=now,
                policy=self._policy,
                owner=self._owner,
                leased_until=now + timedelta(seconds=LEASE_S),
                request=request,
            )
        )
        if reported.escalations:
            await self._escalate.start(reported.escalations)
        return reported.entry
