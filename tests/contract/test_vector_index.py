"""What every vector index keeps to: the port's contract over the fake and the real adapters.

Another adapter joins by a line in `INDICES`. Its index is empty when it is opened.
"""

from __future__ import annotations

import math
import random
import secrets
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

import anyio
import pytest

from adapters.vectors.memory_vector_index import MemoryVectorIndex
from adapters.vectors.milvus_index import MilvusIndex
from adapters.vectors.pgvector_index import PgvectorIndex
from application.learner.ports import StoredVectors, VectorIndex
from domain.errors import EmbedderMismatch
from domain.learner.lesson import Bin
from tests.contract.parameters import over
from tests.fakes.fake_vector_index import FakeVectorIndex
from tests.servers.milvus import MilvusServer
from tests.servers.postgres import PostgresServer

EMBEDDER = "test-v1"
DIMENSION = 8


class Case(NamedTuple):
    """An index under test. `tolerance` is how far its cosines may be off."""

    open: Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[VectorIndex]]
    tolerance: float = 1e-6


@asynccontextmanager
async def _fake(_: pytest.FixtureRequest) -> AsyncIterator[VectorIndex]:
    yield FakeVectorIndex()


@asynccontextmanager
async def _memory(_: pytest.FixtureRequest) -> AsyncIterator[VectorIndex]:
    yield MemoryVectorIndex()


@asynccontextmanager
async def _memory_coded(_: pytest.FixtureRequest) -> AsyncIterator[VectorIndex]:
    yield MemoryVectorIndex(exact_bytes=0)


@asynccontextmanager
async def _pgvector(request: pytest.FixtureRequest) -> AsyncIterator[VectorIndex]:
    server: PostgresServer = request.getfixturevalue("postgres_server")
    index = PgvectorIndex(server.create_database(f"vectors_{secrets.token_hex(6)}"))
    yield index
    await index.aclose()


@asynccontextmanager
async def _milvus(request: pytest.FixtureRequest) -> AsyncIterator[VectorIndex]:
    server: MilvusServer = request.getfixturevalue("milvus_server")
    index = MilvusIndex(server.uri)
    await index.reset(EMBEDDER, DIMENSION)
    yield index
    await index.aclose()


INDICES = {
    "fake": Case(_fake),
    "memory": Case(_memory),
    "memory, coded": Case(_memory_coded, tolerance=1e-4),
    "pgvector": Case(_pgvector),
    "milvus": Case(_milvus),
}


@pytest.fixture(params=over(INDICES))
def case(request: pytest.FixtureRequest) -> Case:
    return INDICES[request.param]


@pytest.fixture
async def index(case: Case, request: pytest.FixtureRequest) -> AsyncIterator[VectorIndex]:
    async with case.open(request) as opened:
        assert await opened.prepare(EMBEDDER, DIMENSION) == 0
        yield opened


def unit(*values: float) -> bytes:
    """A vector of length 1 (or zero) whose first numbers are in these proportions."""
    padded = [*values, *[0.0] * (DIMENSION - len(values))]
    length = math.sqrt(sum(value * value for value in padded)) or 1.0
    return struct.pack(f"<{DIMENSION}f", *(value / length for value in padded))


def stored(lesson_id: str, *vectors: bytes, bin: Bin = Bin.SKILLS) -> StoredVectors:
    return StoredVectors(
        lesson_id=lesson_id,
        bin=bin,
        embedder=EMBEDDER,
        dimension=DIMENSION,
        count=len(vectors),
        data=b"".join(vectors),
    )


def some_lessons(number: int, seed: int = 7) -> list[StoredVectors]:
    chance = random.Random(seed)
    return [
        stored(
            f"{at:05}",
            *(unit(*(chance.gauss(0, 1) for _ in range(DIMENSION))) for _ in range(chance.randint(1, 4))),
            bin=chance.choice(list(Bin)),
        )
        for at in range(number)
    ]


async def ids(index: VectorIndex, query: bytes, limit: int = 10, bin: Bin | None = None) -> list[str]:
    return [hit.lesson_id for hit in await index.nearest(query, limit, bin)]


async def test_an_empty_index_finds_nothing(index: VectorIndex) -> None:
    assert await ids(index, unit(1)) == []
    assert await index.similarities(unit(1), ["a"]) == {}


async def test_the_nearest_come_first(index: VectorIndex, case: Case) -> None:
    await index.apply([stored("far", unit(0, 1)), stored("near", unit(1, 0.1)), stored("mid", unit(1, 1))], [], 1)
    hits = await index.nearest(unit(1), 10)
    assert [hit.lesson_id for hit in hits] == ["near", "mid", "far"]
    expected = [1 / math.sqrt(1.01), math.sqrt(0.5), 0.0]
    assert [hit.similarity for hit in hits] == pytest.approx(expected, abs=case.tolerance)


async def test_a_lesson_comes_once_by_its_best_vector(index: VectorIndex, case: Case) -> None:
    await index.apply([stored("a", unit(0, 1), unit(1), unit(1, 1)), stored("b", unit(1, 0.5))], [], 1)
    hits = await index.nearest(unit(1), 10)
    assert [hit.lesson_id for hit in hits] == ["a", "b"]
    assert hits[0].similarity == pytest.approx(1.0, abs=case.tolerance)


async def test_opposite_vectors_are_found_too(index: VectorIndex, case: Case) -> None:
    await index.apply([stored("a", unit(-1))], [], 1)
    (hit,) = await index.nearest(unit(1), 10)
    assert hit.similarity == pytest.approx(-1.0, abs=case.tolerance)


async def test_similarities_are_cosines_and_never_beyond_one(index: VectorIndex) -> None:
    lessons = some_lessons(50)
    await index.apply(lessons, [], 1)
    for lesson in lessons:
        hits = await index.nearest(lesson.data[: 4 * DIMENSION], 50)
        assert all(-1.0 <= hit.similarity <= 1.0 for hit in hits)


async def test_a_zero_vector_is_similar_to_nothing(index: VectorIndex) -> None:
    await index.apply([stored("a", unit(1)), stored("b", unit())], [], 1)
    for query in (unit(), unit(1)):
        found = await index.similarities(query, ["a", "b"])
        assert all(math.isfinite(similarity) for similarity in found.values())
        assert found["b"] == 0.0
    assert all(math.isfinite(hit.similarity) for hit in await index.nearest(unit(), 10))


@pytest.mark.parametrize("limit", [-1, 0])
async def test_no_lesson_is_asked_for(index: VectorIndex, limit: int) -> None:
    await index.apply([stored("a", unit(1))], [], 1)
    assert await ids(index, unit(1), limit) == []


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
async def test_no_more_than_the_limit(index: VectorIndex, limit: int) -> None:
    lessons = [stored("a", unit(1)), stored("b", unit(1, 0.1)), stored("c", unit(1, 0.2))]
    await index.apply(lessons, [], 1)
    assert await ids(index, unit(1), limit) == ["a", "b", "c"][:limit]


async def test_equal_ones_go_by_id(index: VectorIndex) -> None:
    names = [f"{number:03}" for number in range(40)]
    shuffled = random.Random(3).sample(names, len(names))
    await index.apply([stored(name, unit(1, 2, 3)) for name in shuffled], [], 1)
    assert await ids(index, unit(3, 2, 1), 7) == names[:7]


async def test_a_bin_is_searched_alone(index: VectorIndex) -> None:
    skills = [stored(f"s{number}", unit(1, number / 100)) for number in range(30)]
    await index.apply([*skills, stored("k", unit(-1), bin=Bin.KNOWLEDGE)], [], 1)
    assert await ids(index, unit(1), 5, Bin.KNOWLEDGE) == ["k"]
    assert await ids(index, unit(1), 2, Bin.SKILLS) == ["s0", "s1"]


async def test_a_lesson_may_change_its_bin(index: VectorIndex) -> None:
    await index.apply([stored("a", unit(1))], [], 1)
    await index.apply([stored("a", unit(1), bin=Bin.KNOWLEDGE)], [], 2)
    assert await ids(index, unit(1), 10, Bin.SKILLS) == []
    assert await ids(index, unit(1), 10, Bin.KNOWLEDGE) == ["a"]


async def test_a_lesson_is_replaced_whole(index: VectorIndex, case: Case) -> None:
    await index.apply([stored("a", unit(1), unit(0, 1), unit(0, 0, 1))], [], 1)
    await index.apply([stored("a", unit(0, 0, 0, 1))], [], 2)
    assert (await index.similarities(unit(1), ["a"]))["a"] == pytest.approx(0.0, abs=case.tolerance)
    assert (await index.similarities(unit(0, 0, 0, 1), ["a"]))["a"] == pytest.approx(1.0, abs=case.tolerance)


async def test_what_is_removed_is_gone(index: VectorIndex) -> None:
    await index.apply([stored("a", unit(1)), stored("b", unit(1, 1))], [], 1)
    await index.apply([], ["a", "never there"], 2)
    assert await ids(index, unit(1)) == ["b"]
    assert await index.similarities(unit(1), ["a", "b"]) == await index.similarities(unit(1), ["b"])
    await index.apply([stored("a", unit(1))], [], 3)
    assert await ids(index, unit(1)) == ["a", "b"]


async def test_applying_twice_is_harmless(index: VectorIndex) -> None:
    await index.apply([stored("old", unit(1))], [], 1)
    for _ in range(2):
        await index.apply([stored("a", unit(1)), stored("b", unit(1, 1))], ["old"], 2)
    assert await ids(index, unit(1)) == ["a", "b"]


async def test_similarities_are_of_the_lessons_asked_for(index: VectorIndex, case: Case) -> None:
    await index.apply([stored("a", unit(1), unit(0, 1)), stored("b", unit(1, 1)), stored("c", unit(1))], [], 1)
    found = await index.similarities(unit(0, 1), ["b", "a", "unknown"])
    assert found == pytest.approx({"a": 1.0, "b": math.sqrt(0.5)}, abs=case.tolerance)


async def test_it_remembers_its_revision(index: VectorIndex) -> None:
    await index.apply([stored("a", unit(1))], [], 41)
    assert await index.prepare(EMBEDDER, DIMENSION) == 41
    await index.apply([], [], 42)
    assert await index.prepare(EMBEDDER, DIMENSION) == 42


@pytest.mark.parametrize(("embedder", "dimension"), [("other-v2", DIMENSION), (EMBEDDER, DIMENSION + 1)])
async def test_another_embedder_is_refused_with_both_named(index: VectorIndex, embedder: str, dimension: int) -> None:
    await index.apply([stored("a", unit(1))], [], 1)
    with pytest.raises(EmbedderMismatch) as refused:
        await index.prepare(embedder, dimension)
    for part in (EMBEDDER, str(DIMENSION), embedder, str(dimension), "memorygrid reindex"):
        assert part in refused.value.detail
    assert await ids(index, unit(1)) == ["a"]


async def test_vectors_of_another_embedder_are_refused(index: VectorIndex) -> None:
    foreign = StoredVectors(
        lesson_id="x", bin=Bin.SKILLS, embedder="other-v2", dimension=DIMENSION, count=1, data=unit(1)
    )
    with pytest.raises(EmbedderMismatch):
        await index.apply([stored("a", unit(1)), foreign], [], 1)
    assert await ids(index, unit(1)) == []
    assert await index.prepare(EMBEDDER, DIMENSION) == 0


async def test_a_query_of_another_dimension_is_refused(index: VectorIndex) -> None:
    await index.apply([stored("a", unit(1))], [], 1)
    with pytest.raises(EmbedderMismatch):
        await index.nearest(unit(1)[:-4], 10)
    with pytest.raises(EmbedderMismatch):
        await index.similarities(unit(1) + b"\0\0\0\0", ["a"])


async def test_a_reset_empties_it_for_another_embedder(index: VectorIndex) -> None:
    await index.apply([stored("a", unit(1))], [], 5)
    await index.reset("other-v2", 4)
    assert await index.prepare("other-v2", 4) == 0
    query = struct.pack("<4f", 1, 0, 0, 0)
    assert await ids(index, query) == []
    other = StoredVectors(lesson_id="b", bin=Bin.SKILLS, embedder="other-v2", dimension=4, count=1, data=query)
    await index.apply([other], [], 1)
    assert await ids(index, query) == ["b"]


async def test_it_agrees_with_brute_force(index: VectorIndex, case: Case) -> None:
    reference = FakeVectorIndex()
    await reference.prepare(EMBEDDER, DIMENSION)
    chance = random.Random(11)
    for revision in range(1, 13):
        put = chance.sample(some_lessons(120, seed=revision), 40)
        remove = [f"{chance.randrange(120):05}" for _ in range(15)]
        for one in (index, reference):
            await one.apply(put, remove, revision)
        query = unit(*(chance.gauss(0, 1) for _ in range(DIMENSION)))
        for bin in (None, *Bin):
            found = await index.nearest(query, 10, bin)
            expected = await reference.nearest(query, 10, bin)
            assert [hit.lesson_id for hit in found] == [hit.lesson_id for hit in expected]
            similarities = [hit.similarity for hit in expected]
            assert [hit.similarity for hit in found] == pytest.approx(similarities, abs=case.tolerance)


async def test_searches_beside_changes_see_whole_lessons(index: VectorIndex) -> None:
    lessons = some_lessons(300)
    await index.apply(lessons, [], 1)

    async def change(put: Sequence[StoredVectors]) -> None:
        for revision in range(2, 6):
            await index.apply(put, [], revision)

    async def search() -> None:
        for _ in range(10):
            found = await ids(index, unit(1, 1, 1), 300)
            assert len(found) == len(set(found)) == 300

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(change, lessons[:150])
        for _ in range(4):
            tasks.start_soon(search)
    assert await index.prepare(EMBEDDER, DIMENSION) == 5
