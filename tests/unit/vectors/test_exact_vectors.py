from __future__ import annotations

import pytest

from adapters.vectors import exact_vectors
from adapters.vectors.cosines import Lesson
from adapters.vectors.exact_vectors import ExactVectors
from tests.unit.vectors.unit_vectors import DIMENSION, best, vectors


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_vectors, "_BLOCK_BYTES", 4 * DIMENSION * 8)


@pytest.mark.usefixtures("small_blocks")
def test_many_blocks_answer_as_one() -> None:
    index, lessons = ExactVectors(DIMENSION), [Lesson(f"{at:03}", 0, vectors(1 + at % 4, at)) for at in range(100)]
    index.put(lessons)
    query = vectors(1, 999)[0]
    assert [lesson_id for lesson_id, _ in index.nearest(query, 10, None)] == best(query, lessons, 10)


@pytest.mark.usefixtures("small_blocks")
def test_a_lesson_may_have_more_vectors_than_a_block() -> None:
    index = ExactVectors(DIMENSION)
    index.put([Lesson("a", 0, vectors(50, 1)), Lesson("b", 0, vectors(2, 2))])
    assert [lesson_id for lesson_id, _ in index.nearest(vectors(50, 1)[49], 1, None)] == ["a"]


@pytest.mark.usefixtures("small_blocks")
def test_what_is_removed_gives_its_room_back() -> None:
    index = ExactVectors(DIMENSION)
    for turn in range(50):
        index.put([Lesson(f"{at}", 0, vectors(2, 100 * turn + at)) for at in range(20)])
    assert len(index) == 20
    assert index.rows == 40
    assert index.room <= 3 * 40
    for at in range(20):
        index.remove(f"{at}")
    assert (len(index), index.rows, index.room) == (0, 0, 0)
    assert index.nearest(vectors(1, 1)[0], 5, None) == []


def test_a_cosine_does_not_depend_on_what_else_is_there() -> None:
    """A matrix product sums a row in an order that depends on where the row lies."""
    same, query = vectors(1, 1), vectors(1, 2)[0]
    index, alone = ExactVectors(DIMENSION), ExactVectors(DIMENSION)
    for at in range(200):
        index.put([Lesson(f"{at:03}", 0, same), Lesson(f"other {at}", 0, vectors(1 + at % 3, 1_000 + at))])
    found = index.cosines(query, [f"{at:03}" for at in range(200)])
    alone.put([Lesson("000", 0, same)])
    assert set(found.values()) == set(alone.cosines(query, ["000"]).values())


def test_a_lesson_without_vectors_is_not_there() -> None:
    index = ExactVectors(DIMENSION)
    index.put([Lesson("a", 0, vectors(1, 1))])
    index.put([Lesson("a", 0, vectors(0, 1))])
    assert len(index) == 0
