"""Embeddings of promoted copies."""

from __future__ import annotations

from application.learner.ports import (
    LessonStore,
)
from tests.contract.lesson_store.stories import (
    UNKNOWN,
    added,
    embedded,
    followed,
    many,
    promote,
    remove,
)
from tests.fakes.examples import (
    lesson,
    promoted,
    vectors,
)


async def test_vectors_are_found_by_their_embedder(lessons: LessonStore) -> None:
    one, other = many(2)
    await added(lessons, one, other)
    one, other = await promote(lessons, one), await promote(lessons, other)
    mine, theirs = embedded(one), embedded(one, embedder="Three", dimension=2, count=3)
    await lessons.put_vectors([mine, theirs, embedded(other)])
    (delta,) = await followed(lessons, embedder="Three")
    assert {item.copy.id: item.vectors for item in delta.promoted} == {one.id: theirs.vectors, other.id: None}
    assert sorted(await lessons.embedders()) == [("Three", 2), ("three", 3)]
    await lessons.forget_vectors(keep="three")
    assert list(await lessons.embedders()) == [("three", 3)]
    (delta,) = await followed(lessons)
    assert {item.copy.id: item.vectors for item in delta.promoted} == {
        one.id: mine.vectors,
        other.id: vectors(other.id),
    }


async def test_storing_vectors_moves_no_revision_and_may_be_repeated(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    current = await promote(lessons, lesson())
    for _ in range(2):
        await lessons.put_vectors([embedded(current)])
    await lessons.put_vectors([])
    (delta,) = await followed(lessons)
    assert [item.vectors for item in delta.promoted] == [vectors()]
    assert await lessons.revision() == 1


async def test_vectors_go_with_their_copy(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    current = await promote(lessons, lesson())
    await lessons.put_vectors([embedded(current), embedded(current, embedder="another")])
    gone = await remove(lessons, current)
    assert list(await lessons.embedders()) == []
    await promote(lessons, gone)
    (delta,) = await followed(lessons)
    assert [item.vectors for item in delta.promoted] == [None]


async def test_vectors_of_what_is_not_promoted_are_not_kept(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    gone = await promote(lessons, lesson())
    await remove(lessons, gone)
    await lessons.put_vectors([embedded(gone), embedded(promoted(id=UNKNOWN))])
    assert list(await lessons.embedders()) == []


async def test_vectors_of_an_earlier_copy_do_not_take_the_place_of_the_present_ones(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    old = await promote(lessons, lesson())
    new = await promote(lessons, old, title="Another title")
    await lessons.put_vectors([embedded(old)])
    (delta,) = await followed(lessons)
    assert [item.vectors for item in delta.promoted] == [None]
    await lessons.put_vectors([embedded(new, count=1)])
    await lessons.put_vectors([embedded(old)])
    (delta,) = await followed(lessons)
    assert [item.vectors for item in delta.promoted] == [embedded(new, count=1).vectors]
