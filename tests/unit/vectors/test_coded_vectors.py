from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from adapters.embedders.hashing_embedder import HashingEmbedder
from adapters.vectors import coded_vectors
from adapters.vectors.coded_block import FAR, CodedBlock
from adapters.vectors.coded_vectors import CodedVectors
from adapters.vectors.cosines import Lesson, Vectors
from adapters.vectors.sign_codes import BITS, Distances, SignCoder, distances
from adapters.vectors.stored_vectors import finite
from application.learner.embed import EmbedLessons
from tests.bench import corpus
from tests.unit.vectors.unit_vectors import DIMENSION, best, vectors


def topics(number: int) -> list[Lesson]:
    """Lessons around a hundred topics, three vectors each."""
    centres = vectors(100, 1)
    return [
        Lesson(f"{at:05}", at % 2, np.concatenate([vectors(2, 10 + at, centres[at % 100]), vectors(1, 10**6 + at)]))
        for at in range(number)
    ]


def queries(number: int) -> list[Vectors]:
    centres = vectors(100, 1)
    return [vectors(1, 10**7 + at, centres[at % 100])[0] for at in range(number)]


def ids(found: Sequence[tuple[str, float]]) -> list[str]:
    return [lesson_id for lesson_id, _ in found]


@pytest.fixture(scope="module")
def lessons() -> list[Lesson]:
    return topics(4_000)


@pytest.fixture(scope="module")
def index(lessons: list[Lesson]) -> CodedVectors:
    index = CodedVectors(DIMENSION)
    for start in range(0, len(lessons), 500):
        index.put(lessons[start : start + 500])
    return index


@pytest.mark.parametrize("group", [None, 1])
def test_nearly_all_of_the_nearest_are_found(index: CodedVectors, lessons: list[Lesson], group: int | None) -> None:
    found = [set(ids(index.nearest(query, 10, group))) & set(best(query, lessons, 10, group)) for query in queries(40)]
    assert sum(map(len, found)) >= 0.99 * 400


def crowded(number: int, seed: int) -> Vectors:
    """About one direction, and otherwise mostly in a few others, as some models' vectors lie: mean cosine 0.8."""
    weights = 1.0 / np.sqrt(np.arange(1, 385))
    made = np.random.default_rng(1).standard_normal(384) * weights * 2.0
    made = made + np.random.default_rng(seed).standard_normal((number, 384)) * weights
    return of_length_1(made)


def in_topics(number: int, seed: int) -> Vectors:
    """Two hundred vectors in each of a hundred topics, where there are 20,000."""
    topics = np.random.default_rng(1).standard_normal((100, 384)) * 0.3
    random = np.random.default_rng(seed)
    made = topics[random.integers(0, 100, number)] + random.standard_normal((number, 384)) * 0.2
    return of_length_1(made)


def of_length_1(made: NDArray[np.float64]) -> Vectors:
    lengths: NDArray[np.float64] = np.linalg.norm(made, axis=1, keepdims=True)
    return np.asarray(made / lengths, np.float32)


@pytest.mark.parametrize(("made", "recall"), [(in_topics, 0.99), (crowded, 0.97)])
def test_nearly_all_of_the_nearest_are_found_also_where_very_many_are_about_as_near(
    made: Callable[[int, int], Vectors], recall: float
) -> None:
    there, asked = made(20_000, 2), made(30, 3)
    index = CodedVectors(384)
    for start in range(0, len(there), 1_000):
        index.put([Lesson(str(at), 0, there[at : at + 1]) for at in range(start, start + 1_000)])
    found = 0
    for query in asked:
        tenth = np.sort(there @ query)[-10] - 1e-5
        found += sum(float(there[int(one)] @ query) >= tenth for one in ids(index.nearest(query, 10, None)))
    assert found >= recall * 10 * len(asked)


def test_cosines_are_almost_exact(index: CodedVectors, lessons: list[Lesson]) -> None:
    (query,) = queries(1)
    for lesson in lessons[:300]:
        (found,) = index.cosines(query, [lesson.id]).values()
        assert found == pytest.approx(float((lesson.vectors @ query).max()), abs=1e-5)


def test_what_is_found_does_not_depend_on_when_it_came(index: CodedVectors, lessons: list[Lesson]) -> None:
    other = CodedVectors(DIMENSION)
    shuffled = random.Random(2).sample(lessons, len(lessons))
    other.put(topics(50))
    other.put(shuffled)
    for query in queries(5):
        assert other.nearest(query, 10, None) == index.nearest(query, 10, None)


def test_a_small_group_is_found_whole(index: CodedVectors) -> None:
    rare = [Lesson(f"rare {at}", 2, vectors(1, at)) for at in range(5)]
    index.put(rare)
    query = vectors(1, 77)[0]
    assert ids(index.nearest(query, 10, 2)) == best(query, rare, 10)
    for lesson in rare:
        index.remove(lesson.id)
    assert index.nearest(query, 10, 2) == []


def test_room_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CodedBlock, "ROWS", 64)
    index = CodedVectors(DIMENSION)
    chance = random.Random(4)
    there: dict[str, Lesson] = {}
    for turn in range(400):
        lesson = Lesson(f"{chance.randrange(30)}", turn % 2, vectors(chance.randrange(4), turn))
        there[lesson.id] = lesson
        index.put([lesson])
        if turn % 3 == 0:
            gone = f"{chance.randrange(30)}"
            index.remove(gone)
            there.pop(gone, None)
    query = vectors(1, 5)[0]
    assert ids(index.nearest(query, 10, None)) == best(query, [one for one in there.values() if len(one.vectors)], 10)
    assert index.rows == sum(len(lesson.vectors) for lesson in there.values())
    assert index.blocks <= 3


def test_a_zero_query_is_equally_similar_to_all() -> None:
    index = CodedVectors(DIMENSION)
    index.put([Lesson("b", 0, vectors(1, 1)), Lesson("a", 1, vectors(1, 2)), Lesson("c", 1, vectors(1, 3))])
    zero = np.zeros(DIMENSION, np.float32)
    assert index.nearest(zero, 2, None) == [("a", 0.0), ("b", 0.0)]
    assert index.nearest(zero, 2, 1) == [("a", 0.0), ("c", 0.0)]


@pytest.mark.parametrize("limit", [10, 50])
async def test_nearly_all_of_the_nearest_runbooks_are_found(limit: int) -> None:
    embedder, index = HashingEmbedder(), CodedVectors(1_024)
    made = [corpus.lesson(number) for number in range(1_500)]
    stored = await EmbedLessons(embedder=embedder)(made)
    lessons = [Lesson(one.lesson_id, 0, finite(one.data, one.dimension)) for one in stored]
    index.put(lessons)
    asked = await embedder.embed([corpus.question(number) for number in range(20)])
    queries = [finite(one, 1_024)[0] for one in asked]
    found = [set(ids(index.nearest(query, limit, None))) & set(best(query, lessons, limit)) for query in queries]
    assert sum(map(len, found)) >= 0.99 * limit * len(queries)


@pytest.fixture(scope="module")
def long_lessons() -> list[Lesson]:
    """Of 24 vectors each, around the lesson's own centre near one of twenty topics."""
    topics = vectors(20, 1)
    centres = [vectors(1, 10 + at, topics[at % 20])[0] for at in range(800)]
    return [Lesson(f"{at:03}", at % 2, vectors(24, 10**6 + at, centre)) for at, centre in enumerate(centres)]


@pytest.fixture(scope="module")
def long_index(long_lessons: list[Lesson]) -> CodedVectors:
    index = CodedVectors(DIMENSION)
    index.put(long_lessons)
    return index


@pytest.mark.parametrize("group", [None, 1])
@pytest.mark.parametrize("limit", [10, 50, 114])
def test_nearly_all_of_the_nearest_lessons_with_many_sections_are_found(
    long_index: CodedVectors, long_lessons: list[Lesson], limit: int, group: int | None
) -> None:
    topics = vectors(20, 1)
    queries = [vectors(1, 10**7 + at, topics[at % 20])[0] for at in range(20)]
    found = [ids(long_index.nearest(query, limit, group)) for query in queries]
    assert {len(one) for one in found} == {limit}
    right = [set(one) & set(best(query, long_lessons, limit, group)) for query, one in zip(queries, found, strict=True)]
    assert sum(map(len, right)) >= 0.99 * limit * len(queries)


def test_fewer_lessons_than_were_asked_for_are_found_only_where_there_are_no_more(
    long_index: CodedVectors, long_lessons: list[Lesson]
) -> None:
    near = long_lessons[0].vectors[0]
    for limit in (1, 200, 399, 400, 401, 1_000):
        assert len(long_index.nearest(near, limit, 1)) == min(limit, 400)


@pytest.mark.parametrize("there", [1_000, 1_151, 1_152, 1_153, 2_000])
def test_the_closest_are_found_in_few_sweeps_also_where_there_are_fewer_than_the_sample_tells(
    monkeypatch: pytest.MonkeyPatch, there: int
) -> None:
    distances = np.full(4_000, FAR, np.uint8)
    near = np.argsort(np.arange(4_000) % 16, kind="stable")[:there]
    distances[near] = 100
    sweeps: list[int] = []
    within = coded_vectors._within

    def counted(some: Sequence[Distances], most: int) -> int:
        sweeps.append(most)
        return within(some, most)

    monkeypatch.setattr(coded_vectors, "_within", counted)
    (found,) = coded_vectors._closest([distances], 1_152)
    assert found.tolist() == sorted(near.tolist())
    assert len(sweeps) <= 4


def test_nothing_is_found_where_nothing_is() -> None:
    assert CodedVectors(DIMENSION).nearest(vectors(1, 5)[0], 2, None) == []


def test_a_vector_that_points_away_is_found_where_there_is_no_other() -> None:
    index, (query,) = CodedVectors(DIMENSION), vectors(1, 5)
    index.put([Lesson("away", 0, -query[np.newaxis]), Lesson("gone", 0, vectors(1, 6))])
    index.remove("gone")
    ((found, cosine),) = index.nearest(query, 2, None)
    assert found == "away"
    assert cosine == pytest.approx(-1.0, abs=1e-5)


def test_a_vector_has_the_same_code_alone_as_among_others() -> None:
    made, coder = vectors(300, 3), SignCoder(DIMENSION)
    alone = np.concatenate([coder.codes(made[at : at + 1]) for at in range(len(made))])
    assert (coder.codes(made) == alone).all()


@pytest.mark.parametrize("dimension", [8, 384, 1_100])
def test_distances_of_codes_tell_the_angle(dimension: int) -> None:
    made = np.random.default_rng(1).standard_normal((200, dimension)).astype(np.float32)
    near = made[0] + made[1:] * np.linspace(0.1, 2.0, 199, dtype=np.float32)[:, np.newaxis]
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    codes = SignCoder(dimension).codes(near)
    parts = [distances(np.ascontiguousarray(codes[1:, at : at + 2].T), codes[0, at : at + 2]) for at in range(0, 16, 2)]
    found = np.sum(parts, axis=0, dtype=np.uint16)
    angles = np.arccos(np.clip(near[1:] @ near[0], -1.0, 1.0))
    assert found == pytest.approx(angles / np.pi * BITS, abs=120 if dimension > 8 else 450)
