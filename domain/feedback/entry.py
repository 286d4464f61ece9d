"""A feedback entry: one selection of a lesson and what became of it."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Annotated

import msgspec

from domain.errors import NoSelection
from domain.values import CallerId, JsonObject


class ResultFlag(str, Enum):
    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


class FailureClass(str, Enum):
    """Whose fault a failure was: only the lesson's own failures count towards escalation."""

    LESSON = "lesson"
    INFRASTRUCTURE = "infrastructure"


class FeedbackEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`usage_count` is 1 at selection and one more per reported outcome; `transaction_log_ref` is the outcome's id.

    `failures_seen` is the count of the lesson's failures in this review round that the last report brought about;
    None before the first report.
    """

    id: str
    problem_solving_step_ref: str
    session_id: str
    lesson_skill_id: str
    matched_entity_type: str
    selection_query: JsonObject
    selection_context: JsonObject
    result_flag: ResultFlag
    usage_count: int
    transaction_log_ref: str
    timestamp: datetime
    updated_at: datetime
    review_round: int
    matcher_used: str
    fallback_reason: str | None = None
    failure_class: FailureClass | None = None
    detail: JsonObject | None = None
    failures_seen: int | None = None

    @property
    def report_number(self) -> int:
        """How many outcomes have been reported for this entry."""
        return self.usage_count - 1


class OutcomeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the pipeline reports. With `outcome_id` (the id that invoke answered) exactly that selection is meant,
    else the latest of the step and session.
    """

    problem_solving_step_ref: CallerId
    session_id: CallerId
    result_flag: ResultFlag
    outcome_id: Annotated[str, msgspec.Meta(max_length=255)] | None = None
    failure_class: FailureClass = FailureClass.LESSON
    detail: JsonObject | None = None


def reported(entry: FeedbackEntry, report: OutcomeReport, *, at: datetime) -> FeedbackEntry:
    """The entry after one more report; `failures_seen` is still to be counted."""
    failed = report.result_flag is ResultFlag.FAILURE
    return msgspec.structs.replace(
        entry,
        result_flag=report.result_flag,
        usage_count=entry.usage_count + 1,
        updated_at=at,
        failure_class=report.failure_class if failed else None,
        detail=report.detail,
    )


def no_selection(report: OutcomeReport) -> NoSelection:
    """The error for a report that is about nothing that was recorded."""
    step = f"step {report.problem_solving_step_ref!r} of session {report.session_id!r}"
    if report.outcome_id is not None:
        return NoSelection(
            f"no selection with outcome_id {report.outcome_id!r} was recorded for {step}: it is the `id` that "
            "POST /incorporator/invoke answered for the same step and session"
        )
    return NoSelection(f"no selection was recorded for {step}: POST /incorporator/invoke comes first")
