"""Examples of what is sent and answered, as the API's description shows them."""

from __future__ import annotations

from domain.values import JsonObject

_LESSON_ID = "0199f0a0-4c1e-7b52-9d3e-2b9e6f1c0a77"
_OUTCOME_ID = "0199f0a0-51d2-7c3b-8a41-6f1c2b9e0d13"
_AT = "2026-10-22T10:00:00Z"
_PAYLOAD: JsonObject = {"action": "retry_with_backoff", "instruction_template": "Retry {operation} with backoff"}

DRAFT: JsonObject = {
    "bin": "skills_base",
    "title": "Retry uploads with backoff",
    "body": "When an upload fails because storage is degraded, retry it with exponential backoff.",
    "tags": ["upload"],
    "dsl_payload": _PAYLOAD,
    "source": "agent-7",
}
LESSON: JsonObject = {
    "id": _LESSON_ID,
    **DRAFT,
    "status": "pending_review",
    "version": 1,
    "review_round": 0,
    "created_at": _AT,
    "updated_at": _AT,
}
HIT: JsonObject = {
    "id": _LESSON_ID,
    "bin": "skills_base",
    "title": "Retry uploads with backoff",
    "score": 1.0,
    "text_match": True,
    "similarity": 0.62,
}
QUERY: JsonObject = {
    "session_id": "s1",
    "problem_solving_step_ref": "step-17",
    "problem_type": "flaky_upload",
    "current_task_context": {"operation": "upload report.pdf"},
    "system_state": {"storage_status": "degraded"},
    "additional_caller_data": {},
}
OUTCOME: JsonObject = {
    "id": _OUTCOME_ID,
    "source": "dsl",
    "action": "retry_with_backoff",
    "instruction": "Retry upload report.pdf with backoff",
    "recommended_action_payload": {"dsl_payload": _PAYLOAD},
    "match_result": {
        "matched_entity_type": "skill",
        "matched_entity_id": _LESSON_ID,
        "matcher_used": "dsl",
        "confidence": 1.0,
        "raw_payload": {
            "id": _LESSON_ID,
            "bin": "skills_base",
            "title": "Retry uploads with backoff",
            "body": "When an upload fails because storage is degraded, retry it with exponential backoff.",
            "tags": ["upload"],
            "dsl_payload": _PAYLOAD,
            "version": 2,
            "review_round": 1,
            "promoted_at": _AT,
        },
        "fallback_reason": None,
        "usage": None,
    },
    "created_at": _AT,
}
REPORT: JsonObject = {"problem_solving_step_ref": "step-17", "session_id": "s1", "result_flag": "failure"}
ENTRY: JsonObject = {
    "id": "0199f0a0-51d3-7d10-b0a5-1c2b9e6f0d42",
    "problem_solving_step_ref": "step-17",
    "session_id": "s1",
    "lesson_skill_id": _LESSON_ID,
    "matched_entity_type": "skill",
    "selection_query": {"session_id": "s1", "problem_solving_step_ref": "step-17", "problem_type": "flaky_upload"},
    "selection_context": {"operation": "upload report.pdf"},
    "result_flag": "failure",
    "usage_count": 2,
    "transaction_log_ref": _OUTCOME_ID,
    "timestamp": _AT,
    "updated_at": _AT,
    "review_round": 1,
    "matcher_used": "dsl",
    "fallback_reason": None,
    "failure_class": "lesson",
    "detail": None,
    "failures_seen": 1,
}
