"""Another process rebuilds the index with another embedder."""

from __future__ import annotations

import pytest

from domain.errors import EmbedderMismatch
from tests.fakes.system import Learner
from tests.fakes.unsteady import UnsteadyEmbedder


async def overtaken() -> Learner:
    """A process that runs while the index becomes another embedder's; it has noticed."""
    learner = Learner()
    await learner.promoted(title="Retry one")
    other = Learner(store=learner.store, vectors=learner.vectors, embedder=UnsteadyEmbedder("another-v2"))
    await other.catalog.reindex()
    await learner.promoted(title="Retry two")
    return learner


async def titles(learner: Learner, query: str) -> list[str]:
    return sorted(found.copy.title for found in (await learner.search(query, None, 10)).found)


async def test_it_is_told_as_the_embedders() -> None:
    learner = await overtaken()
    assert list(learner.catalog.problems) == ["embedder"]
    assert "another-v2" in learner.catalog.problems["embedder"]


async def test_text_matches_go_on_and_follow_every_decision() -> None:
    learner = await overtaken()
    assert await titles(learner, "retry") == ["Retry one", "Retry two"]
    await learner.promoted(title="Retry three")
    result = await learner.search("retry", None, 10)
    assert len(result.found) == 3
    assert result.degraded == learner.catalog.problems["embedder"]
    assert learner.catalog.revision == 3


async def test_a_search_that_needs_similarities_is_refused() -> None:
    learner = await overtaken()
    with pytest.raises(EmbedderMismatch):
        await learner.search("uploads retry now", None, 10)
    with pytest.raises(EmbedderMismatch):
        await learner.search.most_similar("retry", 10)


async def test_the_reconciler_tells_it_and_brings_the_lessons_folder_up_to_date() -> None:
    learner = await overtaken()
    learner.files.away = True
    await learner.promoted(title="Retry three")
    learner.files.away = False
    with pytest.raises(EmbedderMismatch):
        await learner.catalog.reconcile()
    assert list(learner.catalog.problems) == ["embedder"]
    assert len(learner.files.texts) == 3


async def test_the_reconciler_notices_where_nothing_has_changed() -> None:
    learner = Learner()
    await learner.promoted()
    await Learner(
        store=learner.store, vectors=learner.vectors, embedder=UnsteadyEmbedder("another-v2")
    ).catalog.reindex()
    with pytest.raises(EmbedderMismatch):
        await learner.catalog.reconcile()
    assert list(learner.catalog.problems) == ["embedder"]


async def test_it_is_over_when_the_index_is_this_embedders_again() -> None:
    learner = await overtaken()
    await Learner(store=learner.store, vectors=learner.vectors).catalog.reindex()
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {}
    assert await titles(learner, "uploads retry now") == ["Retry one", "Retry two"]


async def test_it_is_over_when_this_process_rebuilds_the_index() -> None:
    learner = await overtaken()
    await learner.catalog.reindex()
    assert learner.catalog.problems == {}
    assert await titles(learner, "uploads retry now") == ["Retry one", "Retry two"]


async def test_a_process_that_starts_with_another_embedder_tells_it_too() -> None:
    first = Learner()
    await first.promoted()
    second = Learner(store=first.store, embedder=UnsteadyEmbedder("another-v2"))
    with pytest.raises(EmbedderMismatch):
        await second.catalog.refresh()
    assert list(second.catalog.problems) == ["embedder"]
    await second.catalog.reindex()
    await second.catalog.refresh()
    assert second.catalog.problems == {}
