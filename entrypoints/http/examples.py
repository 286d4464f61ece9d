"""Examples of what is sent and answered, as the API's description shows them."""

from __future__ import annotations

from domain.values import JsonObject

_LESSON_ID = "0199f0a0-4c1e-7b52-9d3e-2b9e6f1c0a77"
_OUTCOME_ID = "0199f0a0-51d2-7c3b-8a41-6f1c2b9e0d13"
_ENTRY_ID = "0199f0a0-51d3-7d10-b0a5-1c2b9e6f0d42"
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
PROMOTED: JsonObject = {**LESSON, "status": "promoted", "version": 2, "review_round": 1}
EDITED: JsonObject = {
    **PROMOTED,
    "title": "Retry uploads with exponential backoff",
    "version": 3,
    "review_round": 2,
}
REJECTED: JsonObject = {**LESSON, "status": "rejected", "version": 2}
DISABLED: JsonObject = {**PROMOTED, "status": "disabled", "version": 3}
FLAGGED: JsonObject = {
    **PROMOTED,
    "status": "pending_review",
    "reason": "3 failed outcomes in review round 1",
    "feedback": {"usage_count": 8, "success": 1, "failure": 3, "pending": 0, "lesson_failures": 3},
    "last_failed_entry_id": _ENTRY_ID,
}
LOG: list[JsonObject] = [
    {"event": "injected", "at": _AT, "actor": "agent-7", "detail": {"source": "agent-7"}},
    {"event": "approved", "at": _AT, "actor": "ann", "detail": {"note": "checked"}},
]
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
_MATCH: JsonObject = {
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
}
OUTCOME: JsonObject = {
    "id": _OUTCOME_ID,
    "source": "dsl",
    "action": "retry_with_backoff",
    "instruction": "Retry upload report.pdf with backoff",
    "recommended_action_payload": {"dsl_payload": _PAYLOAD},
    "match_result": _MATCH,
    "created_at": _AT,
}
REPORT: JsonObject = {"problem_solving_step_ref": "step-17", "session_id": "s1", "result_flag": "failure"}
ENTRY: JsonObject = {
    "id": _ENTRY_ID,
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
EXPLANATION: JsonObject = {
    "match": _MATCH,
    "rule": {"problem_type": "flaky_upload", "target_bin": "skills_base", "query": "retry uploads", "min_score": 0.0},
    "candidates": [
        {
            "lesson_id": _LESSON_ID,
            "bin": "skills_base",
            "title": "Retry uploads with backoff",
            "score": 1.0,
            "similarity": 0.62,
            "text_match": True,
            "excluded": None,
        }
    ],
    "notes": [],
}
MISS: JsonObject = {"problem_type": "disk_full", "count": 4, "last_at": _AT}
_USAGE: JsonObject = {
    "usage_count": 8,
    "success": 1,
    "failure": 3,
    "pending": 0,
    "success_rate": 0.25,
    "failure_rate": 0.75,
}
USAGE: JsonObject = {"by_lesson": {_LESSON_ID: _USAGE}, "overall": _USAGE}
SUCCESS_RATE: JsonObject = {"by_lesson": {_LESSON_ID: 0.25}, "overall": 0.25}
FAILURE_RATE: JsonObject = {"by_lesson": {_LESSON_ID: 0.75}, "overall": 0.75}
ESCALATION: JsonObject = {
    "id": "0199f0a0-6b0e-7a55-9c1d-2b9e6f1c0e31",
    "lesson_skill_id": _LESSON_ID,
    "feedback_entry_id": _ENTRY_ID,
    "report_number": 1,
    "review_round": 1,
    "failure_count": 3,
    "reason": "3 failed outcomes in review round 1",
    "path": "human",
    "target": "http://hil.example/review",
    "state": "failed",
    "attempts": 12,
    "last_error": "answered 503",
    "created_at": _AT,
    "next_attempt_at": None,
    "delivered_at": None,
}
RETRIED: JsonObject = {**ESCALATION, "state": "pending", "attempts": 0, "next_attempt_at": _AT}
DEGRADED: JsonObject = {"status": "degraded", "checks": {"object_store": None, "llm": "ANTHROPIC_API_KEY is not set"}}
