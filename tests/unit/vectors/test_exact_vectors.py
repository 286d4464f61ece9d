from __future__ import annotations

import numpy as np
import pytest

from adapters.vectors import exact_vectors
from adapters.vectors.exact_vectors import ExactVectors
from adapters.vectors.vector_block import Vectors

DIMENSION = 16


def vectors(number: int, seed: int) -> Vectors:
    made = np.random.default_rng(seed).standard_normal((number, DIMENSION)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_vectors, "_BLOCK_BYTES", 4 * DIMENSION * 8)


@pytest.mark.usefixtures("small_blocks")
def test_many_blocks_answer_as_one() -> None:
    index, lessons = ExactVectors(DIMENSION), {f"{at:03}": vectors(1 + at % 4, at) for at in range(100)}
    for lesson_id, made in lessons.items():
        index.put(lesson_id, 0, made)
    query = vectors(1, 999)[0]
    cosines = {lesson_id: float((made.astype(float) @ query).max()) for lesson_id, made in lessons.items()}
    expected = sorted(cosines, key=lambda one: -cosines[one])[:10]
    assert [lesson_id for lesson_id, _ in index.nearest(query, 10, None)] == expected


@pytest.mark.usefixtures("small_blocks")
def test_a_lesson_may_have_more_vectors_than_a_block() -> None:
    index = ExactVectors(DIMENSION)
    index.put("a", 0, vectors(50, 1))
    index.put("b", 0, vectors(2, 2))
    assert [lesson_id for lesson_id, _ in index.nearest(vectors(50, 1)[49], 1, None)] == ["a"]


@pytest.mark.usefixtures("small_blocks")
def test_what_is_removed_gives_its_room_back() -> None:
    index = ExactVectors(DIMENSION)
    for turn in range(50):
        for at in range(20):
            index.put(f"{at}", 0, vectors(2, 100 * turn + at))
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
    index = ExactVectors(DIMENSION)
    for at in range(200):
        index.put(f"{at:03}", 0, same)
        index.put(f"other {at}", 0, vectors(1 + at % 3, 1_000 + at))
    found = index.cosines(query, [f"{at:03}" for at in range(200)])
    assert len(set(found.values())) == 1
    alone = ExactVectors(DIMENSION)
    alone.put("000", 0, same)
    assert alone.cosines(query, ["000"])["000"] == found["000"]


def test_a_lesson_without_vectors_is_not_there() -> None:
    index = ExactVectors(DIMENSION)
    index.put("a", 0, vectors(1, 1))
    index.put("a", 0, vectors(0, 1))
    assert len(index) == 0
