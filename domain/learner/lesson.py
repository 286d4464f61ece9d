"""A lesson, its promoted copy, and the table that says which decision and which escalation effect moves it where.

Told in `docs/explanation/feedback.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Final

import msgspec

from domain.errors import DecisionNotAllowed, StaleVersion
from domain.values import JsonObject


class Bin(str, Enum):
    """Where a lesson belongs once it is promoted: the Skills store or the Knowledge Base."""

    SKILLS = "skills_base"
    KNOWLEDGE = "knowledge_base"


#: Both, for messages.
BINS: Final = " or ".join(one.value for one in Bin)


def naming_bins(message: str) -> str:
    """The decoder's message, with the bins that there are where it is about another one."""
    return f"{message}: must be {BINS}" if "Invalid enum value" in message else message


class Status(str, Enum):
    PENDING_REVIEW = "pending_review"
    PROMOTED = "promoted"
    REJECTED = "rejected"
    DISABLED = "disabled"


class Decision(str, Enum):
    """What a person may decide about a lesson."""

    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    DISABLE = "disable"


class LessonDraft(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody injects: the content of a lesson before it has an identity."""

    bin: Bin
    title: str
    body: str
    tags: tuple[str, ...] = ()
    dsl_payload: JsonObject | None = None
    source: str = ""


class LessonEdit(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a lesson that a reviewer changes; what is UNSET stays. A `dsl_payload` of None removes it."""

    title: str | msgspec.UnsetType = msgspec.UNSET
    body: str | msgspec.UnsetType = msgspec.UNSET
    tags: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    dsl_payload: JsonObject | msgspec.UnsetType | None = msgspec.UNSET


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """The original, which people review.

    `version` moves on content changes and decisions, not on flags. `review_round` counts approvals and edits; failures
    are counted within one round. `disabled_by_escalation` tells a disabling that a flag may turn back into a review
    from one that a person decided.
    """

    id: str
    bin: Bin
    title: str
    body: str
    tags: tuple[str, ...]
    dsl_payload: JsonObject | None
    status: Status
    version: int
    review_round: int
    source: str
    created_at: datetime
    updated_at: datetime
    disabled_by_escalation: bool = False


class PromotedLesson(msgspec.Struct, frozen=True, kw_only=True):
    """The reviewed copy that matching sees; it keeps the lesson's own id."""

    id: str
    bin: Bin
    title: str
    body: str
    tags: tuple[str, ...]
    dsl_payload: JsonObject | None
    version: int
    review_round: int
    promoted_at: datetime


_AFTER_DECISION: Mapping[Status, Mapping[Decision, Status]] = {
    Status.PENDING_REVIEW: {
        Decision.APPROVE: Status.PROMOTED,
        Decision.EDIT: Status.PROMOTED,
        Decision.REJECT: Status.REJECTED,
        Decision.DISABLE: Status.DISABLED,
    },
    Status.PROMOTED: {
        Decision.EDIT: Status.PROMOTED,
        Decision.REJECT: Status.REJECTED,
        Decision.DISABLE: Status.DISABLED,
    },
    Status.REJECTED: {Decision.EDIT: Status.PROMOTED},
    Status.DISABLED: {
        Decision.APPROVE: Status.PROMOTED,
        Decision.EDIT: Status.PROMOTED,
        Decision.REJECT: Status.REJECTED,
    },
}


def decide(
    lesson: Lesson, decision: Decision, *, at: datetime, edit: LessonEdit | None = None, version: int | None = None
) -> Lesson:
    """The lesson after a person's decision.

    `version`, where given, is the one that the person has seen. Raises `StaleVersion` and `DecisionNotAllowed`.
    """
    if version is not None and version != lesson.version:
        raise StaleVersion(
            f"lesson {lesson.id} is at version {lesson.version}, not {version}: read it again, then decide"
        )
    allowed = _AFTER_DECISION[lesson.status]
    if decision not in allowed:
        can = ", ".join(one.value for one in allowed)
        raise DecisionNotAllowed(
            f"a lesson that is {lesson.status.value} cannot be {_PAST[decision]}; what it allows: {can}"
        )
    new_round = decision in (Decision.APPROVE, Decision.EDIT)
    changed = msgspec.structs.replace(
        lesson,
        status=allowed[decision],
        version=lesson.version + 1,
        review_round=lesson.review_round + new_round,
        updated_at=at,
        disabled_by_escalation=False,
    )
    if edit is None:
        return changed
    content = {name: value for name, value in _fields(edit).items() if value is not msgspec.UNSET}
    return msgspec.structs.replace(changed, **content)


def _fields(edit: LessonEdit) -> dict[str, object]:
    return {"title": edit.title, "body": edit.body, "tags": edit.tags, "dsl_payload": edit.dsl_payload}


_PAST = {
    Decision.APPROVE: "approved",
    Decision.EDIT: "edited",
    Decision.REJECT: "rejected",
    Decision.DISABLE: "disabled",
}


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What an escalation does to a lesson: the lesson afterwards, and whether its promoted copy is deleted."""

    lesson: Lesson
    deletes_copy: bool


def flag(lesson: Lesson, *, review_round: int, at: datetime) -> Effect | None:
    """The human path: back to review. None where a person has decided in the meantime (the flag is superseded)."""
    if lesson.review_round != review_round:
        return None
    match lesson.status:
        case Status.PENDING_REVIEW:
            return Effect(lesson=lesson, deletes_copy=False)
        case Status.PROMOTED:
            return Effect(lesson=_moved(lesson, Status.PENDING_REVIEW, at), deletes_copy=False)
        case Status.DISABLED if lesson.disabled_by_escalation:
            back = msgspec.structs.replace(_moved(lesson, Status.PENDING_REVIEW, at), disabled_by_escalation=False)
            return Effect(lesson=back, deletes_copy=False)
        case _:
            return None


def disable_by_escalation(lesson: Lesson, *, review_round: int, at: datetime) -> Effect | None:
    """The auto path: the copy is deleted at once. None where a person has decided in the meantime (superseded)."""
    if lesson.review_round != review_round:
        return None
    match lesson.status:
        case Status.PENDING_REVIEW:
            return Effect(lesson=lesson, deletes_copy=True)
        case Status.PROMOTED:
            disabled = msgspec.structs.replace(_moved(lesson, Status.DISABLED, at), disabled_by_escalation=True)
            return Effect(lesson=disabled, deletes_copy=True)
        case _:
            return None


def _moved(lesson: Lesson, status: Status, at: datetime) -> Lesson:
    return msgspec.structs.replace(lesson, status=status, updated_at=at)


def promoted_copy(lesson: Lesson, *, at: datetime) -> PromotedLesson:
    """The copy that matching sees of a lesson just approved or edited at `at`."""
    return PromotedLesson(
        id=lesson.id,
        bin=lesson.bin,
        title=lesson.title,
        body=lesson.body,
        tags=lesson.tags,
        dsl_payload=lesson.dsl_payload,
        version=lesson.version,
        review_round=lesson.review_round,
        promoted_at=at,
    )
