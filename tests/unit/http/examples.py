"""One of everything that the HTTP layer answers, and ids that nothing has."""

from __future__ import annotations

from datetime import datetime, timezone

from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.feedback.escalation import Escalation, Path, State
from domain.feedback.metrics import Counters
from domain.incorporator.match import MatcherName, matched
from domain.incorporator.outcome import ApplierOutcome, Source
from domain.learner.lesson import Bin, Lesson, Status, promoted_copy

NOW = datetime(2026, 10, 22, 10, 0, tzinfo=timezone.utc)
LESSON_ID = "0199f0a0-0000-7000-8000-000000000001"
ENTRY_ID = "0199f0a0-0000-7000-8000-000000000002"
ESCALATION_ID = "0199f0a0-0000-7000-8000-000000000003"
UNKNOWN_ID = "0199f0a0-0000-7000-8000-00000000ffff"

LESSON = Lesson(
    id=LESSON_ID,
    bin=Bin.SKILLS,
    title="Retry uploads",
    body="Retry.",
    tags=("upload",),
    dsl_payload={"action": "retry"},
    status=Status.PENDING_REVIEW,
    version=1,
    review_round=0,
    source="",
    created_at=NOW,
    updated_at=NOW,
)
COPY = promoted_copy(LESSON, at=NOW)
MATCH = matched(COPY, MatcherName.DSL, 1.0)
ENTRY = FeedbackEntry(
    id=ENTRY_ID,
    problem_solving_step_ref="step-17",
    session_id="s1",
    lesson_skill_id=LESSON_ID,
    matched_entity_type="skill",
    selection_query={},
    selection_context={},
    result_flag=ResultFlag.PENDING,
    usage_count=1,
    transaction_log_ref=UNKNOWN_ID,
    timestamp=NOW,
    updated_at=NOW,
    review_round=1,
    matcher_used="dsl",
)
ESCALATION = Escalation(
    id=ESCALATION_ID,
    entry_id=ENTRY_ID,
    report_number=1,
    path=Path.HUMAN,
    target="learner",
    lesson_skill_id=LESSON_ID,
    review_round=1,
    failure_count=3,
    counters=Counters(),
    state=State.FAILED,
    attempts=12,
    last_error="503",
    created_at=NOW,
    next_attempt_at=NOW,
)
OUTCOME = ApplierOutcome(
    id=UNKNOWN_ID,
    source=Source.DSL,
    action="retry",
    instruction="Retry",
    recommended_action_payload={"dsl_payload": {"action": "retry"}},
    match_result=MATCH,
    created_at=NOW,
)
