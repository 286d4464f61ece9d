"""Another embedder is refused until everything is embedded anew, and so is the index of another."""

from __future__ import annotations

import pytest

from domain.errors import EmbedderMismatch, EmbedderUnavailable, VectorsUnavailable
from tests.fakes.system import Learner
from tests.fakes.together import all_of
from tests.fakes.unsteady import UnsteadyEmbedder, UnsteadyVectorIndex
from tests.unit.application.learner.catalogs import Slow, crowd, similar


async def test_another_embedder_than_the_stored_ones_is_refused_with_both_named() -> None:
    first = Learner()
    await first.promoted()
    second = Learner(store=first.store, embedder=UnsteadyEmbedder("another-v2"))
    with pytest.raises(EmbedderMismatch) as refusal:
        await second.catalog.refresh()
    for named in ("fake-words-v1", "another-v2", "reindex"):
        assert named in refusal.value.detail


async def test_an_index_of_another_embedder_is_refused() -> None:
    vectors = UnsteadyVectorIndex()
    first = Learner(vectors=vectors)
    await first.promoted()
    await first.store.forget_vectors(keep="none")
    second = Learner(store=first.store, embedder=UnsteadyEmbedder("another-v2"), vectors=vectors)
    with pytest.raises(EmbedderMismatch):
        await second.catalog.refresh()


async def test_reindexing_rebuilds_everything_with_the_new_embedder() -> None:
    vectors = UnsteadyVectorIndex()
    first = Learner(vectors=vectors)
    for n in range(3):
        await first.promoted(title=f"Retry {n}")
    second = Learner(store=first.store, embedder=UnsteadyEmbedder("another-v2"), vectors=vectors)
    assert await second.catalog.reindex() == 3
    assert list(await first.store.embedders()) == [("another-v2", second.embedder.dimension)]
    assert await similar(second) == ["Retry 0", "Retry 1", "Retry 2"]
    third = Learner(store=first.store, embedder=UnsteadyEmbedder("another-v2"), vectors=vectors)
    assert await similar(third) == ["Retry 0", "Retry 1", "Retry 2"]


async def test_reindexing_an_empty_store_is_no_work() -> None:
    assert await Learner().catalog.reindex() == 0


async def test_reindexing_more_than_one_portion_counts_them_all() -> None:
    learner = Learner()
    await crowd(learner.store, 501)
    assert await learner.catalog.reindex() == 501
    assert len(await learner.vectors.nearest((await learner.embedder.embed(["retry"]))[0], 1000)) == 501


async def test_reindexing_without_the_embedder_says_so_and_is_made_up_for() -> None:
    learner = Learner()
    await learner.promoted(title="Retry uploads")
    await learner.store.forget_vectors(keep="none")
    learner.embedder.away = True
    with pytest.raises(EmbedderUnavailable):
        await learner.catalog.reindex()
    learner.embedder.away = False
    await learner.catalog.reconcile()
    assert await similar(learner) == ["Retry uploads"]


async def test_reindexing_without_the_index_says_so_and_forgets_no_embeddings() -> None:
    learner = Learner()
    await learner.promoted(title="Retry uploads")
    before = list(await learner.store.embedders())
    learner.vectors.away = True
    with pytest.raises(VectorsUnavailable):
        await learner.catalog.reindex()
    learner.vectors.away = False
    learner.vectors.fails = {"apply"}
    with pytest.raises(VectorsUnavailable):
        await learner.catalog.reindex()
    assert list(await learner.store.embedders()) == before
    learner.vectors.fails = set()
    await learner.catalog.reconcile()
    assert await similar(learner) == ["Retry uploads"]


async def test_a_decision_while_the_index_is_being_rebuilt_is_not_lost() -> None:
    embedder = Slow()
    learner = Learner(embedder=embedder)
    await learner.promoted(title="Retry one")
    await learner.store.forget_vectors(keep="none")

    async def promote() -> None:
        await all_of(learner.promoted(title="Retry two"))

    embedder.meanwhile.append(promote)
    await learner.catalog.reindex()
    await learner.catalog.reconcile()
    assert await similar(learner) == ["Retry one", "Retry two"]
    assert learner.catalog.problems == {}
