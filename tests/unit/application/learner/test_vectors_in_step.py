"""Changes get into the vector index one at a time, also while it is slow."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import anyio
import pytest

from application.learner import catalog
from tests.fakes.system import Learner
from tests.fakes.unsteady import UnsteadyEmbedder, UnsteadyVectorIndex


class SlowEmbedder(UnsteadyEmbedder):
    """An embedding `takes` so many seconds."""

    takes = 0.0

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        await anyio.sleep(self.takes)
        return await super().embed(texts)


class SlowIndex(UnsteadyVectorIndex):
    """To ask it for its revision `takes` so many seconds."""

    takes = 0.0

    async def prepare(self, embedder: str, dimension: int) -> int:
        await anyio.sleep(self.takes)
        return await super().prepare(embedder, dimension)


async def similar(learner: Learner) -> list[str]:
    return sorted(found.copy.title for found in (await learner.search.most_similar("retry", 10)).found)


async def test_a_rebuild_and_the_reconciler_do_not_embed_the_same_lessons_side_by_side() -> None:
    embedder = SlowEmbedder()
    learner = Learner(embedder=embedder)
    await learner.promoted(title="Retry one")
    await learner.store.forget_vectors(keep="none")
    embedder.takes = 10
    learner.vectors.calls.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(learner.catalog.reindex)
        await anyio.sleep(1)
        group.start_soon(learner.catalog.reconcile)
    assert learner.vectors.calls["apply"] == 1
    assert learner.catalog.problems == {}


async def test_a_rebuild_tells_how_far_it_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "BATCH", 2)
    learner = Learner()
    for title in ("Retry one", "Retry two", "Retry three"):
        await learner.promoted(title=title)
    heard: list[tuple[int, int]] = []
    assert await learner.catalog.reindex(lambda done, of: heard.append((done, of))) == 3
    assert heard == [(2, 3), (3, 3)]


async def test_a_rebuilt_index_is_behind_no_more() -> None:
    learner = Learner()
    learner.vectors.away = True
    await learner.promoted(title="Retry one")
    learner.vectors.away = False
    assert await learner.catalog.reindex() == 1
    assert learner.catalog.problems == {}
    await learner.promoted(title="Retry two")
    assert await similar(learner) == ["Retry one", "Retry two"]


async def test_an_index_that_was_rebuilt_while_more_was_promoted_is_still_behind() -> None:
    embedder = SlowEmbedder()
    learner = Learner(embedder=embedder)
    await learner.promoted(title="Retry one")
    await learner.store.forget_vectors(keep="none")
    embedder.takes = 20
    async with anyio.create_task_group() as group:
        group.start_soon(learner.catalog.reindex)
        await anyio.sleep(1)
        embedder.takes = 0
        await learner.promoted(title="Retry two")
    assert list(learner.catalog.problems) == ["vectors"]
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {}
    assert await similar(learner) == ["Retry one", "Retry two"]


async def test_what_is_promoted_while_the_index_catches_up_is_caught_up_with_as_well() -> None:
    embedder = SlowEmbedder()
    learner = Learner(embedder=embedder)
    learner.vectors.away = True
    await learner.promoted(title="Retry one")
    await learner.store.forget_vectors(keep="none")
    learner.vectors.away = False
    embedder.takes = 20
    async with anyio.create_task_group() as group:
        group.start_soon(learner.catalog.reconcile)
        await anyio.sleep(1)
        embedder.takes = 0
        await learner.promoted(title="Retry two")
        assert "vectors" in learner.catalog.problems
    assert learner.catalog.problems == {}
    assert await similar(learner) == ["Retry one", "Retry two"]


async def test_a_change_that_could_not_wait_for_the_reconciler_is_taken_over_by_it() -> None:
    vectors = SlowIndex()
    learner = Learner(vectors=vectors)
    await learner.promoted(title="Retry one")
    vectors.takes = 20
    vectors.calls.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(learner.catalog.reconcile)
        await anyio.sleep(1)
        start = anyio.current_time()
        await learner.promoted(title="Retry two")
        assert anyio.current_time() - start == pytest.approx(5)
        assert "vectors" in learner.catalog.problems
    assert (vectors.calls["prepare"], vectors.calls["apply"]) == (1, 1)
    assert learner.catalog.problems == {}
    assert await similar(learner) == ["Retry one", "Retry two"]


async def test_after_much_at_once_the_index_hears_that_nothing_more_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "BATCH", 1)
    learner = Learner()
    for title in ("Retry one", "Retry two"):
        await learner.promoted(title=title)
    learner.vectors.calls.clear()
    await learner.catalog.reindex()
    assert (learner.vectors.calls["apply"], learner.vectors.calls["settle"]) == (2, 1)


async def test_an_index_that_an_earlier_process_filled_hears_it_once() -> None:
    earlier = Learner()
    await earlier.promoted(title="Retry one")
    later = Learner(store=earlier.store, vectors=earlier.vectors)
    earlier.vectors.calls.clear()
    for _ in range(3):
        await later.catalog.reconcile()
    assert (later.vectors.calls["apply"], later.vectors.calls["settle"]) == (0, 1)


async def test_an_index_that_was_emptied_and_filled_for_another_store_hears_it_too() -> None:
    learner = Learner()
    empty = deepcopy(learner.store)
    for title in ("Retry one", "Retry two"):
        await learner.promoted(title=title)
    await learner.catalog.reconcile()
    vars(learner.store).update(vars(empty))
    await learner.promoted(title="Retry three")
    assert await similar(learner) == ["Retry three"]
    learner.vectors.calls.clear()
    for _ in range(3):
        await learner.catalog.reconcile()
    assert (learner.vectors.calls["apply"], learner.vectors.calls["settle"]) == (0, 1)


async def test_an_index_that_could_not_do_what_it_had_left_undone_is_told_again() -> None:
    learner = Learner()
    await learner.promoted(title="Retry one")
    await learner.catalog.reconcile()
    learner.vectors.away = True
    await learner.promoted(title="Retry two")
    learner.vectors.away = False
    learner.vectors.fails.add("settle")
    await learner.catalog.reconcile()
    assert list(learner.catalog.problems) == ["vectors"]
    learner.vectors.fails.clear()
    learner.vectors.calls.clear()
    for _ in range(3):
        await learner.catalog.reconcile()
    assert (learner.vectors.calls["apply"], learner.vectors.calls["settle"]) == (0, 1)
    assert learner.catalog.problems == {}
