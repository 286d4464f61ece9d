"""Several processes on one vector store: whatever the order, the newest version of each lesson stays."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

import anyio
import pytest

from application.learner.ports import VectorIndex
from domain.errors import EmbedderMismatch, VectorsUnavailable
from domain.learner.lesson import Bin
from tests.integration.vectors.stores import DIMENSION, EMBEDDER, QUERY, Kind, found, stored, towards

OpenIndex = Callable[[], Awaitable[VectorIndex]]


async def test_all_see_what_one_has_applied(open_index: OpenIndex) -> None:
    first, second = await open_index(), await open_index()
    await first.apply([stored("a", towards(0.9)), stored("b", towards(0.5), bin=Bin.KNOWLEDGE)], [], 1)
    assert await found(second) == {"a": 0.9, "b": 0.5}
    await second.apply([], ["a"], 2)
    assert await found(first) == {"b": 0.5}


async def test_a_late_version_does_not_overwrite_a_newer_one(open_index: OpenIndex) -> None:
    fast, slow = await open_index(), await open_index()
    await fast.apply([stored("a", towards(0.9))], [], 7)
    await slow.apply([stored("a", towards(0.1), towards(0.2)), stored("b", towards(0.5))], [], 4)
    assert await found(fast) == await found(slow) == {"a": 0.9, "b": 0.5}


async def test_a_late_version_does_not_bring_a_removed_lesson_back(open_index: OpenIndex) -> None:
    fast, slow = await open_index(), await open_index()
    await fast.apply([], ["a"], 7)
    await slow.apply([stored("a", towards(0.9))], [], 4)
    assert await found(fast) == await found(slow) == {}
    assert await slow.similarities(QUERY, ["a"]) == {}
    await slow.apply([stored("a", towards(0.8))], [], 9)
    assert await found(fast) == {"a": 0.8}


async def test_a_late_removal_does_not_take_a_newer_version_away(open_index: OpenIndex) -> None:
    fast, slow = await open_index(), await open_index()
    await fast.apply([stored("a", towards(0.9))], [], 7)
    await slow.apply([], ["a"], 4)
    assert await found(slow) == {"a": 0.9}


async def test_the_revision_only_moves_forward(open_index: OpenIndex) -> None:
    fast, slow = await open_index(), await open_index()
    await fast.apply([], [], 7)
    await slow.apply([stored("a", towards(0.9))], [], 4)
    for index in (fast, slow, await open_index()):
        assert await index.prepare(EMBEDDER, DIMENSION) == 7


async def test_processes_that_apply_side_by_side_end_with_the_newest_of_everything(open_index: OpenIndex) -> None:
    chance = random.Random(5)
    names = [f"lesson-{number}" for number in range(12)]
    history: list[tuple[str, float | None]] = [
        (chance.choice(names), chance.choice([None, round(chance.random(), 2)])) for _ in range(60)
    ]

    async def follow(index: VectorIndex, step: int) -> None:
        """Applies the history in portions, each with what was the newest state at its end."""
        for start in range(0, len(history), step):
            end = min(start + step, len(history))
            newest = dict(history[:end])
            changed = {name for name, _ in history[start:end]}
            put = [stored(name, towards(cosine)) for name in changed if (cosine := newest[name]) is not None]
            await index.apply(put, [name for name in changed if newest[name] is None], end)

    indices = [await open_index() for _ in range(3)]
    async with anyio.create_task_group() as tasks:
        for index, step in zip(indices, (4, 7, 15), strict=True):
            tasks.start_soon(follow, index, step)
    expected = {name: cosine for name, cosine in dict(history).items() if cosine is not None}
    for index in indices:
        assert await found(index) == expected
    assert await indices[0].prepare(EMBEDDER, DIMENSION) == len(history)


async def test_processes_that_open_an_empty_store_at_once_agree(kind: Kind, address: str) -> None:
    indices = [kind.open(address) for _ in range(4)]
    async with anyio.create_task_group() as tasks:
        for index in indices:
            tasks.start_soon(index.prepare, "another-v1", DIMENSION)
    one = [stored("a", towards(0.9), embedder="another-v1")]
    try:
        await indices[0].apply(one, [], 1)
    except VectorsUnavailable:  # Milvus knows no transactions: whoever came second has emptied it once more
        await indices[0].prepare("another-v1", DIMENSION)
        await indices[0].apply(one, [], 1)
    for index in indices:
        assert await index.prepare("another-v1", DIMENSION) == 1
        assert await found(index) == {"a": 0.9}
        await index.aclose()


async def test_whoever_follows_an_index_that_is_rebuilt_starts_anew(open_index: OpenIndex) -> None:
    follower, rebuilder = await open_index(), await open_index()
    await follower.apply([stored("a", towards(0.9)), stored("b", towards(0.5))], [], 7)
    await rebuilder.reset(EMBEDDER, DIMENSION)
    with pytest.raises(VectorsUnavailable, match="emptied in the meantime"):
        await follower.apply([stored("c", towards(0.3))], [], 8)
    assert await follower.prepare(EMBEDDER, DIMENSION) == 0
    await rebuilder.apply([stored("a", towards(0.9))], [], 3)
    assert await follower.prepare(EMBEDDER, DIMENSION) == 3
    await follower.apply([stored("b", towards(0.5)), stored("c", towards(0.3))], [], 8)
    assert await found(rebuilder) == {"a": 0.9, "b": 0.5, "c": 0.3}


@pytest.mark.parametrize("dimension", [DIMENSION, DIMENSION + 3])
async def test_an_index_that_became_another_embedders_says_so(open_index: OpenIndex, dimension: int) -> None:
    mine, theirs = await open_index(), await open_index()
    await mine.apply([stored("a", towards(0.9))], [], 1)
    await theirs.reset("other-v2", dimension)
    await theirs.apply([stored("a", towards(0.4, dimension), embedder="other-v2")], [], 1)
    for refused in (
        lambda: mine.nearest(QUERY, 5),
        lambda: mine.similarities(QUERY, ["a"]),
        lambda: mine.apply([stored("b", towards(0.3))], [], 2),
        lambda: mine.prepare(EMBEDDER, DIMENSION),
    ):
        with pytest.raises(EmbedderMismatch) as mismatch:
            await refused()
        for part in (EMBEDDER, f"({DIMENSION} dim", "other-v2", f"({dimension} dim", "memorygrid reindex"):
            assert part in mismatch.value.detail
    assert await found(theirs, towards(1.0, dimension)) == {"a": 0.4}


async def test_an_index_that_another_embedder_has_just_emptied_is_no_empty_answer(open_index: OpenIndex) -> None:
    mine, theirs = await open_index(), await open_index()
    await mine.apply([stored("a", towards(0.9))], [], 1)
    await theirs.reset("other-v2", DIMENSION)
    with pytest.raises((EmbedderMismatch, VectorsUnavailable)):
        await mine.nearest(QUERY, 5)


async def test_a_bin_with_few_lessons_is_not_starved_by_the_other(open_index: OpenIndex) -> None:
    index = await open_index()
    many = [stored(f"s{number:04}", towards(0.9 + number / 50_000)) for number in range(2_000)]
    few = [stored(f"k{number}", towards(-0.5 - number / 100), bin=Bin.KNOWLEDGE) for number in range(3)]
    await index.apply([*many, *few], [], 1)
    await index.apply([], [], 2)
    assert list(await found(index, bin=Bin.KNOWLEDGE)) == ["k0", "k1", "k2"]
    assert len(await found(index, limit=300)) == 300


async def test_odd_ids_are_no_harm(open_index: OpenIndex) -> None:
    index = await open_index()
    await index.apply([stored("a", towards(0.9))], [], 1)
    odd = ["", "'", '"', "\\", "a' or 'a' == 'a", "a\\' or true", "%", "\n", "é", "x" * 300, "{a}"]
    assert await index.similarities(QUERY, odd) == {}
    await index.apply([], odd, 2)
    assert await found(index) == {"a": 0.9}
