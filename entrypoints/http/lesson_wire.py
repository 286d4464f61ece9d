"""Lessons as they travel: what is sent in, and what is answered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from domain.learner.draft import LONGEST_SOURCE, LONGEST_TAG, LONGEST_TITLE, MOST_TAGS, growth_problem
from domain.learner.lesson import Bin, Lesson, LessonDraft, LessonEdit, Status
from domain.learner.log import Event, LogEntry, QueuedLesson
from domain.learner.ranking import SearchHit
from domain.values import JsonObject

_NO_CONTROL = "^[^\\u0000-\\u001f\\u007f-\\u009f]*(?!\\n)$"

Title = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TITLE, pattern=f"^(?=\\s*\\S){_NO_CONTROL[1:]}")]
Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TAG, pattern=_NO_CONTROL)]
Tags = Annotated[tuple[Tag, ...], msgspec.Meta(max_length=MOST_TAGS)]
Source = Annotated[str, msgspec.Meta(max_length=LONGEST_SOURCE, pattern=_NO_CONTROL)]
Reviewer = Annotated[str, msgspec.Meta(max_length=255, pattern=_NO_CONTROL)]
Note = Annotated[str, msgspec.Meta(max_length=10_000)]
Version = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Any whole number: one that is not the current version is a conflict, and no fault of the request's shape."""


class DraftBody(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson to inject. A `dsl_payload` with an `action` makes it deterministic."""

    bin: Bin
    title: Title
    body: str
    tags: Tags = ()
    dsl_payload: JsonObject | None = None
    source: Source = ""

    def __post_init__(self) -> None:
        _check_growth(title=self.title, body=self.body)

    def draft(self) -> LessonDraft:
        return LessonDraft(
            bin=self.bin,
            title=self.title,
            body=self.body,
            tags=self.tags,
            dsl_payload=self.dsl_payload,
            source=self.source,
        )


class DecisionBody(msgspec.Struct, frozen=True, kw_only=True):
    """`version`: the one that the reviewer has seen; another one in the store means 409."""

    reviewer: Reviewer | None = None
    note: Note | None = None
    version: Version | None = None


class EditBody(msgspec.Struct, frozen=True, kw_only=True):
    """What is left out stays; a `dsl_payload` of null removes it. The rest is as in a decision."""

    title: Title | msgspec.UnsetType = msgspec.UNSET
    body: str | msgspec.UnsetType = msgspec.UNSET
    tags: Tags | msgspec.UnsetType = msgspec.UNSET
    dsl_payload: JsonObject | msgspec.UnsetType | None = msgspec.UNSET
    reviewer: Reviewer | None = None
    note: Note | None = None
    version: Version | None = None

    def __post_init__(self) -> None:
        _check_growth(title=self.title, body=self.body)

    def edit(self) -> LessonEdit:
        return LessonEdit(title=self.title, body=self.body, tags=self.tags, dsl_payload=self.dsl_payload)


def _check_growth(**texts: str | msgspec.UnsetType) -> None:
    """In the decoder's way: it adds what it knows of the place in front of this one."""
    for name, text in texts.items():
        problem = growth_problem(text) if isinstance(text, str) else None
        if problem is not None:
            raise ValueError(f"{problem} - at `$.{name}`")


class LessonAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson: the original, which people review."""

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


class QueueItem(LessonAnswer, frozen=True, kw_only=True):
    """A lesson that awaits review: `reason` is `injected` or the flag's; a flagged one has the flag's counts too."""

    reason: str
    feedback: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    last_failed_entry_id: str | msgspec.UnsetType = msgspec.UNSET


class HitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A promoted lesson found by a search."""

    id: str
    bin: Bin
    title: str
    score: float
    text_match: bool
    similarity: float


class LogAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a lesson, when, and by whose key."""

    event: Event
    at: datetime
    actor: str
    detail: JsonObject


_SHOWN = LessonAnswer.__struct_fields__


def shown(lesson: Lesson) -> LessonAnswer:
    return LessonAnswer(**{name: getattr(lesson, name) for name in _SHOWN})


def queue_item(lesson: Lesson, queued: QueuedLesson) -> QueueItem:
    flag = queued.flag
    return QueueItem(
        **{name: getattr(lesson, name) for name in _SHOWN},
        reason=queued.reason,
        feedback=flag.feedback if flag else msgspec.UNSET,
        last_failed_entry_id=flag.feedback_entry_id if flag else msgspec.UNSET,
    )


def shown_hits(hits: Sequence[SearchHit]) -> list[HitAnswer]:
    return [
        HitAnswer(
            id=hit.lesson_id,
            bin=hit.bin,
            title=hit.title,
            score=hit.score,
            text_match=hit.text_match,
            similarity=hit.similarity,
        )
        for hit in hits
    ]


def shown_entry(entry: LogEntry) -> LogAnswer:
    return LogAnswer(event=entry.event, at=entry.at, actor=entry.actor, detail=entry.detail)
