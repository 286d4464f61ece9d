"""A lesson's log: what happened to it, when, and who did it. It is only ever appended to."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

import msgspec

from domain.learner.lesson import Decision
from domain.values import JsonObject


class Event(str, Enum):
    INJECTED = "injected"
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"
    DISABLED = "disabled"
    RUNTIME_FAILURE_FLAGGED = "runtime_failure_flagged"
    RUNTIME_FAILURE_DISABLED = "runtime_failure_disabled"
    ERASED = "erased"


DECIDED: dict[Decision, Event] = {
    Decision.APPROVE: Event.APPROVED,
    Decision.EDIT: Event.EDITED,
    Decision.REJECT: Event.REJECTED,
    Decision.DISABLE: Event.DISABLED,
}


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`actor` is the key's name or the service itself; `detail` holds what the actor said (reviewer, note, reason…)."""

    lesson_id: str
    event: Event
    at: datetime
    actor: str
    detail: JsonObject


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """Why a failing lesson came back to review, as kept in the detail of its `runtime_failure_flagged` log entry."""

    reason: str
    feedback_entry_id: str
    failure_count: int
    feedback: dict[str, int]

    def as_detail(self) -> JsonObject:
        """As the log keeps it."""
        return {
            "reason": self.reason,
            "feedback_entry_id": self.feedback_entry_id,
            "failure_count": self.failure_count,
            "feedback": self.feedback,
        }


class QueuedLesson(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson that awaits review, with the reason: `injected`, or the flag that sent it back."""

    lesson_id: str
    reason: str
    flag: Flag | None
