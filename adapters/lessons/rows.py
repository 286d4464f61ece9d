"""Lessons, promoted copies, log entries and vectors as rows, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from application.learner.ports import StoredVectors
from domain.learner.lesson import Bin, Lesson, PromotedLesson
from domain.learner.log import LogEntry
from domain.learner.ranking import normalised

_Row = dict[str, object]

_BINS: dict[str, Bin] = {bin.value: bin for bin in Bin}


def lesson_row(lesson: Lesson) -> _Row:
    row = msgspec.structs.asdict(lesson)
    row["bin"] = lesson.bin.value
    row["status"] = lesson.status.value
    row["folded"] = normalised(f"{lesson.title}\n{lesson.body}")
    return row


def lesson_of(values: Sequence[Any]) -> Lesson:
    """The lesson whose fields these are, in their order."""
    return msgspec.convert(dict(zip(Lesson.__struct_fields__, values, strict=True)), Lesson)


def copy_row(copy: PromotedLesson) -> _Row:
    """All but the revision."""
    row = msgspec.structs.asdict(copy)
    row["lesson_id"] = row.pop("id")
    row["bin"] = copy.bin.value
    return row


def copy_of(values: Sequence[Any]) -> PromotedLesson:
    """The copy whose fields these are, in their order."""
    row = dict(zip(PromotedLesson.__struct_fields__, values, strict=True))
    row["bin"] = _BINS[row["bin"]]
    row["tags"] = tuple(row["tags"])
    return PromotedLesson(**row)


def log_row(entry: LogEntry) -> _Row:
    row = msgspec.structs.asdict(entry)
    row["event"] = entry.event.value
    return row


def log_of(values: Sequence[Any]) -> LogEntry:
    """The log entry whose fields these are, in their order."""
    return msgspec.convert(dict(zip(LogEntry.__struct_fields__, values, strict=True)), LogEntry)


def vectors_row(vectors: StoredVectors) -> _Row:
    row = msgspec.structs.asdict(vectors)
    row["bin"] = vectors.bin.value
    return row


def vectors_of(values: Sequence[Any]) -> StoredVectors:
    """The embeddings whose fields these are, in their order."""
    row = dict(zip(StoredVectors.__struct_fields__, values, strict=True))
    row["bin"] = _BINS[row["bin"]]
    return StoredVectors(**row)
