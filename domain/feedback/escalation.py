"""When a failing lesson escalates, along which paths, and what is delivered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum

import msgspec

from domain.feedback.entry import FailureClass, FeedbackEntry, ResultFlag
from domain.feedback.metrics import Counters
from domain.values import JsonObject


class PathMode(str, Enum):
    """Which paths an escalation takes (`MG_REVIEWER_PATH_MODE`)."""

    HUMAN_ONLY = "human_only"
    AUTO_ONLY = "auto_only"
    BOTH = "both"


class Path(str, Enum):
    HUMAN = "human"
    AUTO = "auto"


class State(str, Enum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    SUPERSEDED = "superseded"


class Escalation(msgspec.Struct, frozen=True, kw_only=True):
    """One delivery that is due: unique by entry, report number and path. `id` is its idempotency key for ever."""

    id: str
    entry_id: str
    report_number: int
    path: Path
    target: str
    lesson_skill_id: str
    review_round: int
    failure_count: int
    counters: Counters
    state: State
    attempts: int
    last_error: str | None
    created_at: datetime
    next_attempt_at: datetime
    delivered_at: datetime | None = None

    @property
    def reason(self) -> str:
        return f"{self.failure_count} failed outcomes in review round {self.review_round}"


class EscalationPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The threshold of failures and the paths that are then due, with the target that each goes to.

    `in_process` are the paths whose effect the reporting request carries out by itself.
    """

    threshold: int
    mode: PathMode
    targets: dict[Path, str]
    in_process: frozenset[Path] = frozenset()

    def due(self, entry: FeedbackEntry) -> Sequence[Path]:
        """The paths that the entry's last report makes due: every further failure escalates again."""
        failed = entry.result_flag is ResultFlag.FAILURE and entry.failure_class is FailureClass.LESSON
        if not failed or entry.failures_seen is None or entry.failures_seen < self.threshold:
            return ()
        return _PATHS[self.mode]


_PATHS: dict[PathMode, tuple[Path, ...]] = {
    PathMode.HUMAN_ONLY: (Path.HUMAN,),
    PathMode.AUTO_ONLY: (Path.AUTO,),
    PathMode.BOTH: (Path.HUMAN, Path.AUTO),
}


def due_escalations(
    entry: FeedbackEntry, counters: Counters, policy: EscalationPolicy, *, at: datetime, new_id: Callable[[], str]
) -> list[Escalation]:
    """The escalations that the entry's last report makes due. `counters` are the lesson's of the entry's round."""
    return [
        Escalation(
            id=new_id(),
            entry_id=entry.id,
            report_number=entry.report_number,
            path=path,
            target=policy.targets[path],
            lesson_skill_id=entry.lesson_skill_id,
            review_round=entry.review_round,
            failure_count=entry.failures_seen or 0,
            counters=counters,
            state=State.PENDING,
            attempts=0,
            last_error=None,
            created_at=at,
            next_attempt_at=at,
        )
        for path in policy.due(entry)
    ]


def flagged_lesson_body(escalation: Escalation) -> JsonObject:
    """The body that an external human-review service gets."""
    return {
        "lesson_skill_id": escalation.lesson_skill_id,
        "feedback_entry_id": escalation.entry_id,
        "reason": escalation.reason,
    }


def remediation_event_body(escalation: Escalation) -> JsonObject:
    """The body that an external workflow engine gets."""
    return {
        "event_type": "lesson_remediation",
        "payload": {"lesson_skill_id": escalation.lesson_skill_id, "failure_count": escalation.failure_count},
    }


#: No wait for an attempt and no lease lasts longer. One that seems to was written before the clock was put back.
LONGEST_WAIT_S = 300.0


def backoff_s(attempts: int, jitter: float) -> float:
    """Seconds to the next attempt after `attempts` failed ones: about 1, doubling, at most 300.

    `jitter` in [0, 1) spreads the attempts of many rows over three quarters to five quarters of 1, 2, 4, … 240.
    """
    doubled = 2.0 ** min(attempts - 1, 8)
    return min(240.0, doubled) * (0.75 + 0.5 * jitter)
