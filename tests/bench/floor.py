"""The floor: a Litestar app that decodes the same requests and encodes the same answers, and does nothing between."""

from __future__ import annotations

from litestar import Litestar, get, post

from domain.feedback.entry import FeedbackEntry, OutcomeReport, ResultFlag
from domain.incorporator.match import MatcherName, matched
from domain.incorporator.outcome import ApplierOutcome, Source
from domain.incorporator.query import QueryInput
from tests.bench.corpus import lesson

_LESSON = lesson(0)
_ID = "01980000-0000-7000-8000-000000000000"
_OUTCOME = ApplierOutcome(
    id=_ID,
    source=Source.DSL,
    action="repair_service",
    instruction="Restart checkout-api after the upload and watch report.pdf in eu-west.",
    recommended_action_payload={"dsl_payload": _LESSON.dsl_payload},
    match_result=matched(_LESSON, MatcherName.DSL, 1.0),
    created_at=_LESSON.promoted_at,
)
_ENTRY = FeedbackEntry(
    id=_ID,
    problem_solving_step_ref="step-1",
    session_id="session-1",
    lesson_skill_id=_LESSON.id,
    matched_entity_type="skill",
    selection_query={"session_id": "session-1", "problem_solving_step_ref": "step-1", "problem_type": "problem-0"},
    selection_context={"operation": "upload", "task": {"file": "report.pdf", "attempt": 3}},
    result_flag=ResultFlag.SUCCESS,
    usage_count=2,
    transaction_log_ref=_ID,
    timestamp=_LESSON.promoted_at,
    updated_at=_LESSON.promoted_at,
    review_round=1,
    matcher_used="dsl",
    failures_seen=0,
)


@get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@post("/incorporator/invoke", status_code=200)
async def invoke(data: QueryInput) -> ApplierOutcome:
    return _OUTCOME


@post("/incorporator/outcome", status_code=200)
async def outcome(data: OutcomeReport) -> FeedbackEntry:
    return _ENTRY


app = Litestar([health, invoke, outcome], openapi_config=None, logging_config=None)
