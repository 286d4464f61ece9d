"""What the catalog has to take over since a revision."""

from __future__ import annotations

import random

import pytest

from application.learner.ports import (
    CatalogDelta,
    LessonStore,
)
from domain.learner.lesson import PromotedLesson, Status, promoted_copy
from tests.contract.lesson_store.stories import (
    LATER,
    added,
    caught_up,
    followed,
    many,
    promote,
    promotion,
    removal,
    remove,
)
from tests.fakes.examples import (
    lesson,
)


async def test_a_delta_says_what_came_and_what_went(lessons: LessonStore) -> None:
    one, other, third = many(3)
    await added(lessons, one, other, third)
    current = await promote(lessons, one)
    gone = await promote(lessons, other)
    since = await lessons.revision()
    await remove(lessons, gone)
    newest = await promote(lessons, third)
    (delta,) = await followed(lessons, since)
    assert [item.copy for item in delta.promoted] == [promoted_copy(newest, at=LATER)]
    assert (list(delta.removed), delta.revision, delta.complete) == ([other.id], 4, True)
    (whole,) = await followed(lessons)
    assert {item.copy.id for item in whole.promoted} == {current.id, newest.id}


async def test_without_a_change_the_delta_is_empty(lessons: LessonStore) -> None:
    assert await lessons.changes_since(0, "three", 10) == CatalogDelta(revision=0, promoted=[], removed=[])
    await added(lessons, lesson())
    await promote(lessons, lesson())
    assert await lessons.changes_since(1, "three", 10) == CatalogDelta(revision=1, promoted=[], removed=[])


async def test_a_revision_that_the_store_does_not_have_is_answered_with_its_own(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    await promote(lessons, lesson())
    for since in (2, 7):
        assert await lessons.changes_since(since, "three", 10) == CatalogDelta(revision=1, promoted=[], removed=[])


async def test_what_came_back_is_no_longer_gone(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    again = await promote(lessons, await remove(lessons, await promote(lessons, before)))
    for since in range(3):
        (delta,) = await followed(lessons, since)
        assert ([item.copy for item in delta.promoted], list(delta.removed)) == ([promoted_copy(again, at=LATER)], [])
    gone = await remove(lessons, again)
    for since in range(4):
        (delta,) = await followed(lessons, since)
        assert (list(delta.promoted), list(delta.removed)) == ([], [gone.id])


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_from_any_revision_on_the_deltas_lead_to_the_same_catalog(lessons: LessonStore, limit: int) -> None:
    chance = random.Random(limit)
    current = {one.id: one for one in many(5)}
    await added(lessons, *current.values())
    catalogs: list[dict[str, PromotedLesson]] = [{}]
    for _ in range(12):
        before = current[chance.choice(list(current))]
        is_promoted = before.status is Status.PROMOTED
        change = removal(before) if is_promoted and chance.random() < 0.5 else promotion(before)
        assert await lessons.change(change)
        current[before.id] = change.lesson
        catalogs.append(await lessons.copies(list(current)))
    assert await lessons.revision() == 12
    for since, known in enumerate(catalogs):
        deltas = await followed(lessons, since, limit)
        assert deltas[-1].revision == 12
        assert caught_up(known, deltas) == catalogs[-1]
