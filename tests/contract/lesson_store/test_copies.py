"""Promoted copies, and the revision that moves with them."""

from __future__ import annotations

import msgspec

from application.learner.ports import (
    CatalogItem,
    LessonChange,
    LessonStore,
    StoredVectors,
)
from domain.learner.lesson import Bin, Status, promoted_copy
from tests.contract.lesson_store.stories import (
    FULL,
    LATER,
    UNKNOWN,
    added,
    embedded,
    followed,
    many,
    promote,
    promoted_now,
    promotion,
    remove,
)
from tests.fakes.examples import (
    ODD,
    every_field_given,
    lesson,
    log_entry,
)


async def test_a_copy_and_its_vectors_come_back_as_they_were_stored(lessons: LessonStore) -> None:
    before = lesson(bin=Bin.KNOWLEDGE, title="Before")
    await added(lessons, before)
    content = {name: getattr(FULL, name) for name in ("title", "body", "tags", "dsl_payload")}
    after = promoted_now(before, **content)
    stored = StoredVectors(
        lesson_id=before.id, bin=Bin.KNOWLEDGE, embedder=ODD, dimension=3, count=2, data=bytes(range(232, 256))
    )
    assert await lessons.change(promotion(before, after, embedded=stored))
    copy = promoted_copy(after, at=LATER)
    assert every_field_given(copy)
    assert await lessons.copies([before.id]) == {before.id: copy}
    (delta,) = await followed(lessons, embedder=ODD)
    assert list(delta.promoted) == [CatalogItem(copy=copy, vectors=stored)]
    assert list(await lessons.embedders()) == [(ODD, 3)]


async def test_copies_are_found_of_promoted_lessons_only(lessons: LessonStore) -> None:
    one, other, third = many(3)
    await added(lessons, one, other, third)
    current = await promote(lessons, one)
    await remove(lessons, await promote(lessons, other))
    found = await lessons.copies([one.id, other.id, third.id, UNKNOWN, "nonsense"])
    assert found == {one.id: promoted_copy(current, at=LATER)}
    assert await lessons.copies([]) == {}


async def test_an_edit_puts_another_copy_in_place(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    first = await promote(lessons, before)
    await lessons.put_vectors([embedded(first)])
    second = await promote(lessons, first, title="Another title")
    assert await lessons.copies([before.id]) == {before.id: promoted_copy(second, at=LATER)}
    (delta,) = await followed(lessons)
    assert list(delta.promoted) == [CatalogItem(copy=promoted_copy(second, at=LATER), vectors=None)]
    assert (delta.revision, list(delta.removed)) == (2, [])


async def test_the_revision_moves_with_the_copies_and_with_nothing_else(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    assert await lessons.revision() == 0
    current = await promote(lessons, before)
    assert await lessons.revision() == 1
    back = msgspec.structs.replace(current, status=Status.PENDING_REVIEW)
    assert await lessons.change(LessonChange(lesson=back, expected=current, log=[log_entry()]))
    assert await lessons.revision() == 1
    gone = await remove(lessons, back)
    assert await lessons.revision() == 2
    rejected = msgspec.structs.replace(gone, status=Status.REJECTED)
    change = LessonChange(lesson=rejected, expected=gone, log=[log_entry()], deletes_copy=True)
    assert await lessons.change(change)
    assert await lessons.revision() == 2
