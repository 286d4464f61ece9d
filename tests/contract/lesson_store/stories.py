"""Lessons in the states that the tests of the object store need, and what a store then has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from application.learner.ports import (
    CatalogDelta,
    CatalogItem,
    LessonChange,
    LessonFilter,
    LessonStore,
    StoredVectors,
)
from domain.learner.lesson import Bin, Lesson, PromotedLesson, Status, promoted_copy
from domain.learner.log import Event
from domain.values import JsonObject
from tests.contract.paging import all_pages
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import (
    ODD,
    injected,
    lesson,
    log_entry,
    vectors,
)

PAYLOAD: JsonObject = {"action": ODD, ODD: [1, -0.5, 1e300, 2**70, True, None, {"deep": [[[{}]]]}, ""]}
FULL = lesson(
    bin=Bin.KNOWLEDGE,
    title=ODD,
    body=ODD + "漢" * 70_000,
    tags=(ODD, "", "a,b", '"', "a", "A"),
    dsl_payload=PAYLOAD,
    status=Status.DISABLED,
    version=41,
    review_round=40,
    source=ODD,
    created_at=START.replace(microsecond=999_999),
    updated_at=START.replace(microsecond=1),
    disabled_by_escalation=True,
)
LATER = START + timedelta(minutes=1, microseconds=1)
TAGS = [
    "uploads",
    "Uploads",
    "upload",
    "a,",
    ",",
    'a"b',
    '","',
    "%",
    "_",
    "\\",
    "é",
    "e\u0301",
    " ",
    "\U0001f9ea",
    "[",
    "",
]
UNKNOWN = "00000000-0000-7000-8000-0000000000ff"


def many(count: int, **fields: Any) -> list[Lesson]:
    """So many lessons; the first is the oldest."""
    new_id = CountingIds(1)
    return [
        lesson(id=new_id(), **{"created_at": at, "updated_at": at, **fields})
        for at in (START + timedelta(seconds=n) for n in range(count))
    ]


async def added(store: LessonStore, *lessons: Lesson) -> None:
    assert await store.add([injected(one) for one in lessons]) is None


def promotion(before: Lesson, after: Lesson | None = None, *, embedded: StoredVectors | None = None) -> LessonChange:
    """The change that promotes the lesson."""
    after = after or promoted_now(before)
    return LessonChange(
        lesson=after,
        expected=before,
        log=[log_entry(Event.APPROVED, lesson_id=before.id, at=after.updated_at)],
        promote=promoted_copy(after, at=after.updated_at),
        vectors=embedded,
    )


def promoted_now(before: Lesson, **fields: Any) -> Lesson:
    return msgspec.structs.replace(
        before,
        status=Status.PROMOTED,
        version=before.version + 1,
        review_round=before.review_round + 1,
        updated_at=LATER,
        **fields,
    )


def removal(before: Lesson) -> LessonChange:
    """The change that disables the lesson and deletes its copy, if there is one."""
    after = msgspec.structs.replace(before, status=Status.DISABLED, version=before.version + 1, updated_at=LATER)
    entry = log_entry(Event.DISABLED, lesson_id=before.id, at=LATER)
    return LessonChange(lesson=after, expected=before, log=[entry], deletes_copy=True)


async def promote(store: LessonStore, before: Lesson, **fields: Any) -> Lesson:
    after = promoted_now(before, **fields)
    assert await store.change(promotion(before, after))
    return after


async def remove(store: LessonStore, before: Lesson) -> Lesson:
    change = removal(before)
    assert await store.change(change)
    return change.lesson


def embedded(of: Lesson, *, at: datetime = LATER, **fields: Any) -> CatalogItem:
    """The lesson's copy as it was promoted, with embeddings."""
    return CatalogItem(copy=promoted_copy(of, at=at), vectors=vectors(of.id, bin=of.bin, **fields))


async def everything(store: LessonStore, where: LessonFilter | None = None, limit: int = 1000) -> list[Lesson]:
    async def read(cursor: str | None) -> tuple[Sequence[Lesson], str | None]:
        page = await store.page(where or LessonFilter(), limit, cursor)
        return page.lessons, page.next_cursor

    return await all_pages(read)


async def followed(
    store: LessonStore, since: int = 0, limit: int = 1000, embedder: str = "three"
) -> list[CatalogDelta]:
    """All deltas from a revision on."""
    deltas: list[CatalogDelta] = []
    while not deltas or not deltas[-1].complete:
        delta = await store.changes_since(since, embedder, limit)
        assert len(delta.promoted) + len(delta.removed) <= limit
        deltas.append(delta)
        since = delta.revision
    return deltas


def caught_up(known: dict[str, PromotedLesson], deltas: Sequence[CatalogDelta]) -> dict[str, PromotedLesson]:
    """What a catalog knows after these deltas."""
    known = dict(known)
    for delta in deltas:
        for lesson_id in delta.removed:
            known.pop(lesson_id, None)
        known.update({item.copy.id: item.copy for item in delta.promoted})
    return known
