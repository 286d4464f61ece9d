"""What goes over the wire: two bodies to the service, and the two answers that come back.

Fields that a newer service adds are ignored. Every moment is an aware `datetime`; every id is a string. What comes
from a lesson, or from the caller's own contexts, is plain JSON: `dict[str, object]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

import msgspec

AwareTime = Annotated[datetime, msgspec.Meta(tz=True)]
FailureClass = Literal["lesson", "infrastructure"]


class InvokeBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of `POST /incorporator/invoke`. The contexts may hold whatever `bodies` can encode."""

    session_id: str
    problem_solving_step_ref: str
    problem_type: str
    current_task_context: Mapping[str, object] | None = None
    system_state: Mapping[str, object] | None = None
    additional_caller_data: Mapping[str, object] | None = None


class OutcomeBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of `POST /incorporator/outcome`.

    Without `outcome_id` the service updates the latest selection of this step and session, with it exactly that one.
    """

    problem_solving_step_ref: str
    session_id: str
    result_flag: Literal["success", "failure"]
    outcome_id: str | None = None
    failure_class: FailureClass | None = None
    detail: Mapping[str, object] | None = None


class MatchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The lesson that was chosen, and how.

    `matched_entity_type` is `skill` or `knowledge`, `matched_entity_id` the lesson's id, `matcher_used` is `dsl` or
    `llm`, `confidence` lies in [0, 1], and `raw_payload` is the promoted lesson. `fallback_reason` says why the
    model's own choice was not used, where that is so. `usage` counts the model's tokens, where it was asked.
    """

    matched_entity_type: str
    matched_entity_id: str
    matcher_used: str
    confidence: float
    raw_payload: dict[str, object]
    fallback_reason: str | None = None
    usage: dict[str, int] | None = None


class ApplierOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the pipeline should do now: execute `action` as `instruction` says.

    `source` is `dsl` or `llm`: who turned the lesson into an action. `recommended_action_payload` holds what it was
    made of, under `dsl_payload` or `llm_response`. `id` is the `outcome_id` to report with.
    """

    id: str
    source: str
    action: str
    instruction: str
    recommended_action_payload: dict[str, object]
    match_result: MatchResult
    created_at: AwareTime


class FeedbackEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the service keeps about one selection.

    `usage_count` is 1 at the selection and grows by 1 with each report. `failures_seen` is the lesson's number of
    failures as of the latest report that counted as one, or None where none did. `failure_class` and `detail` are
    what was reported with a failure.
    """

    id: str
    problem_solving_step_ref: str
    session_id: str
    lesson_skill_id: str
    matched_entity_type: str
    selection_query: dict[str, object]
    selection_context: dict[str, object]
    result_flag: Literal["pending", "success", "failure"]
    usage_count: int
    transaction_log_ref: str
    timestamp: AwareTime
    updated_at: AwareTime
    review_round: int | None = None
    matcher_used: str | None = None
    fallback_reason: str | None = None
    failure_class: str | None = None
    detail: dict[str, object] | None = None
    failures_seen: int | None = None
