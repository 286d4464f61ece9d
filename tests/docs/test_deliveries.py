"""The deliveries' bodies as the documentation shows them are those that the domain writes."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec

from domain.feedback.escalation import Escalation, Path, State, flagged_lesson_body, remediation_event_body
from domain.feedback.metrics import Counters
from tests.docs.checks import check_shape

_AT = datetime(2026, 1, 1, tzinfo=timezone.utc)
_ESCALATION = Escalation(
    id="e",
    entry_id="f",
    report_number=1,
    path=Path.HUMAN,
    target="t",
    lesson_skill_id="l",
    review_round=1,
    failure_count=3,
    counters=Counters(),
    state=State.PENDING,
    attempts=0,
    last_error=None,
    created_at=_AT,
    next_attempt_at=_AT,
)


def test_the_documented_bodies_are_those_that_are_sent() -> None:
    check_shape("FlaggedLesson", msgspec.json.encode(flagged_lesson_body(_ESCALATION)).decode())
    check_shape("RemediationEvent", msgspec.json.encode(remediation_event_body(_ESCALATION)).decode())
