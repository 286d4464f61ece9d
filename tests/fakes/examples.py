"""Objects to test with: each function gives a complete one, and takes what a test wants otherwise."""

from __future__ import annotations

from typing import Any

import msgspec

from application.feedback.ports import RecordSelection, ReportOutcome
from application.learner.ports import LessonChange, StoredVectors
from application.shared.ports import IdempotencyRecord
from domain.feedback.entry import FailureClass, FeedbackEntry, OutcomeReport, ResultFlag
from domain.feedback.escalation import Escalation, EscalationPolicy, Path, PathMode, State
from domain.feedback.metrics import Counters
from domain.incorporator.query import QueryInput
from domain.learner.lesson import Bin, Lesson, LessonDraft, PromotedLesson, Status, promoted_copy
from domain.learner.log import Event, Flag, LogEntry
from tests.fakes.clock import START

#: Text that any layer may spoil: accents in two forms, an astral character, quotes, a backslash, spaces at both ends.
ODD = " Zoë Zoe\u0308 \U0001f9ea 漢字 İıſß '\"\\%_ {x} \u200d\u00a0  "
#: Characters that normalising for comparison makes several of: 18, 3 and 3.
EXPANDING = ("\ufdfa", "\ufb2c", "\ufb03")
LESSON_ID = "0000000a-0000-7000-8000-00000000000a"
ENTRY_ID = "0000000b-0000-7000-8000-00000000000b"
OUTCOME_ID = "0000000c-0000-7000-8000-00000000000c"
ESCALATION_ID = "0000000d-0000-7000-8000-00000000000d"

_T = dict[str, Any]


def draft(**other: Any) -> LessonDraft:
    fields: _T = {"bin": Bin.SKILLS, "title": "Retry uploads", "body": "Back off when storage is degraded."}
    return LessonDraft(**{**fields, **other})


def lesson(**other: Any) -> Lesson:
    fields: _T = {
        "id": LESSON_ID,
        "bin": Bin.SKILLS,
        "title": "Retry uploads",
        "body": "Back off when storage is degraded.",
        "tags": ("uploads",),
        "dsl_payload": None,
        "status": Status.PENDING_REVIEW,
        "version": 1,
        "review_round": 0,
        "source": "an agent",
        "created_at": START,
        "updated_at": START,
    }
    return Lesson(**{**fields, **other})


def promoted(**other: Any) -> Lesson:
    return lesson(**{"status": Status.PROMOTED, "version": 2, "review_round": 1, **other})


def copy(**other: Any) -> PromotedLesson:
    """The copy of a lesson that was promoted in round 1."""
    promoted_at = other.pop("promoted_at", START)
    return promoted_copy(promoted(**other), at=promoted_at)


def vectors(lesson_id: str = LESSON_ID, **other: Any) -> StoredVectors:
    """Two vectors of three dimensions."""
    fields: _T = {"bin": Bin.SKILLS, "embedder": "three", "dimension": 3, "count": 2, "data": bytes(range(24))}
    return StoredVectors(lesson_id=lesson_id, **{**fields, **other})


def log_entry(event: Event = Event.INJECTED, **other: Any) -> LogEntry:
    fields: _T = {"lesson_id": LESSON_ID, "event": event, "at": START, "actor": "somebody", "detail": {}}
    return LogEntry(**{**fields, **other})


def flag(**other: Any) -> Flag:
    fields: _T = {
        "reason": "3 failed outcomes in review round 1",
        "feedback_entry_id": ENTRY_ID,
        "failure_count": 3,
        "feedback": {"usage_count": 9, "success": 2, "failure": 4, "pending": 1, "lesson_failures": 3},
    }
    return Flag(**{**fields, **other})


def injected(new: Lesson) -> LessonChange:
    """The change that stores a new lesson."""
    entry = log_entry(lesson_id=new.id, at=new.created_at)
    return LessonChange(lesson=new, expected=None, log=[entry])


def query(**other: Any) -> QueryInput:
    fields: _T = {
        "session_id": "s1",
        "problem_solving_step_ref": "step-17",
        "problem_type": "flaky_upload",
        "current_task_context": {"operation": "upload report.pdf"},
    }
    return QueryInput(**{**fields, **other})


def entry(**other: Any) -> FeedbackEntry:
    """A fresh selection."""
    fields: _T = {
        "id": ENTRY_ID,
        "problem_solving_step_ref": "step-17",
        "session_id": "s1",
        "lesson_skill_id": LESSON_ID,
        "matched_entity_type": "skill",
        "selection_query": {"session_id": "s1", "problem_solving_step_ref": "step-17", "problem_type": "flaky_upload"},
        "selection_context": {"operation": "upload report.pdf"},
        "result_flag": ResultFlag.PENDING,
        "usage_count": 1,
        "transaction_log_ref": OUTCOME_ID,
        "timestamp": START,
        "updated_at": START,
        "review_round": 1,
        "matcher_used": "dsl",
    }
    return FeedbackEntry(**{**fields, **other})


def failed_entry(failures_seen: int, **other: Any) -> FeedbackEntry:
    """An entry whose first report was the lesson's failure number `failures_seen`."""
    fields: _T = {
        "result_flag": ResultFlag.FAILURE,
        "failure_class": FailureClass.LESSON,
        "usage_count": 2,
        "failures_seen": failures_seen,
    }
    return entry(**{**fields, **other})


def report(flag: ResultFlag = ResultFlag.FAILURE, **other: Any) -> OutcomeReport:
    fields: _T = {"problem_solving_step_ref": "step-17", "session_id": "s1", "result_flag": flag}
    return OutcomeReport(**{**fields, **other})


def policy(threshold: int = 3, mode: PathMode = PathMode.BOTH, **other: Any) -> EscalationPolicy:
    fields: _T = {"targets": {Path.HUMAN: "learner", Path.AUTO: "workflow"}}
    return EscalationPolicy(threshold=threshold, mode=mode, **{**fields, **other})


def select(of: FeedbackEntry, request: IdempotencyRecord | None = None) -> RecordSelection:
    return RecordSelection(entry=of, request=request)


def outcome_of(of: FeedbackEntry, flag: ResultFlag = ResultFlag.FAILURE, **other: Any) -> ReportOutcome:
    """The command that reports the outcome of exactly this entry; fields of the report go in with the others."""
    of_report = {name: other.pop(name) for name in ("failure_class", "detail") if name in other}
    said = report(
        flag,
        problem_solving_step_ref=of.problem_solving_step_ref,
        session_id=of.session_id,
        outcome_id=of.transaction_log_ref,
        **of_report,
    )
    fields: _T = {"at": START, "policy": None, "owner": "one", "leased_until": START}
    return ReportOutcome(report=said, **{**fields, **other})


def request(key: str = "k1", **other: Any) -> IdempotencyRecord:
    fields: _T = {"scope": "somebody POST /somewhere", "fingerprint": "f1", "at": START, "answer": b'{"first": true}'}
    return IdempotencyRecord(key=key, **{**fields, **other})


def escalation(**other: Any) -> Escalation:
    fields: _T = {
        "id": ESCALATION_ID,
        "entry_id": ENTRY_ID,
        "report_number": 1,
        "path": Path.HUMAN,
        "target": "learner",
        "lesson_skill_id": LESSON_ID,
        "review_round": 1,
        "failure_count": 3,
        "counters": Counters(usage_count=9, success=2, failure=4, pending=1, lesson_failures=3),
        "state": State.PENDING,
        "attempts": 0,
        "last_error": None,
        "created_at": START,
        "next_attempt_at": START,
    }
    return Escalation(**{**fields, **other})


def every_field_given(what: msgspec.Struct) -> bool:
    """True when no field of the object still has its default: what a round trip must start from."""
    fields = msgspec.structs.fields(type(what))
    return all(field.default is msgspec.NODEFAULT or getattr(what, field.name) != field.default for field in fields)
