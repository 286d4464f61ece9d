"""The catalog: derived data follow the object store, and heal by themselves after any failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from application.learner.embed import EmbedLessons
from application.learner.ports import LessonChange, StoredVectors
from domain.errors import EmbedderMismatch, EmbedderUnavailable, StoreUnavailable, VectorsUnavailable
from domain.learner.lesson import Bin, Decision, Lesson, Status, promoted_copy
from domain.learner.sections import texts_to_embed
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import copy, injected, lesson, log_entry
from tests.fakes.fake_lesson_files import FakeLessonFiles
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.system import Learner
from tests.fakes.together import all_of
from tests.fakes.unsteady import UnsteadyEmbedder, UnsteadyVectorIndex


async def matches(learner: Learner, query: str = "retry") -> list[str]:
    """The titles of what a search finds."""
    return [found.copy.title for found in (await learner.search(query, None, 10)).found]


async def similar(learner: Learner, query: str = "retry uploads") -> list[str]:
    """The titles of what the language model would be offered: what the vector index holds."""
    return sorted(found.copy.title for found in (await learner.search.most_similar(query, 10)).found)


async def crowd(store: FakeLessonStore, count: int) -> list[Lesson]:
    """So many promoted lessons, without embeddings."""
    new_id = CountingIds(0xC)
    lessons = [lesson(id=new_id(), title=f"Lesson {n}", body="Retry.") for n in range(count)]
    await store.add([injected(one) for one in lessons])
    for one in lessons:
        after = lesson(id=one.id, title=one.title, body=one.body, status=Status.PROMOTED, version=2, review_round=1)
        change = LessonChange(lesson=after, expected=one, log=[log_entry()], promote=promoted_copy(after, at=START))
        assert await store.change(change)
    return lessons


class Slow(UnsteadyEmbedder):
    """While it embeds, somebody edits the lesson."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Any] = []

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        vectors = await super().embed(texts)
        while self.meanwhile:
            await self.meanwhile.pop()()
        return vectors


async def test_an_empty_store_is_an_empty_catalog() -> None:
    learner = Learner()
    await learner.catalog.refresh()
    assert (learner.catalog.revision, len(learner.catalog), learner.catalog.problems) == (0, 0, {})
    assert learner.catalog.promotion("unknown") is None


async def test_a_promotion_is_known_with_its_bin_and_its_date() -> None:
    learner = Learner()
    after = await learner.promoted(bin=Bin.KNOWLEDGE)
    promotion = learner.catalog.promotion(after.id)
    assert promotion is not None
    assert (promotion.bin, promotion.promoted_at) == (Bin.KNOWLEDGE, learner.clock.now())
    assert (learner.catalog.revision, len(learner.catalog)) == (1, 1)


async def test_a_catalog_that_starts_later_knows_everything_at_once() -> None:
    first = Learner()
    for title in ("Retry one", "Retry two"):
        await first.promoted(title=title)
    second = Learner(store=first.store)
    assert sorted(await matches(second)) == ["Retry one", "Retry two"]
    assert second.embedder.embedded == ["retry"]


async def test_the_store_is_not_asked_while_nothing_stirs() -> None:
    learner = Learner()
    await learner.catalog.refresh()
    asked = dict(learner.store.calls)
    for _ in range(100):
        await learner.catalog.refresh()
    assert learner.store.calls == asked
    assert learner.watch.looks >= 100


async def test_another_processs_promotion_is_seen_when_it_stirs() -> None:
    first, second = Learner(), Learner()
    second = Learner(store=first.store)
    await second.catalog.refresh()
    await first.promoted(title="Retry uploads")
    assert await matches(second) == []
    second.watch.stir()
    assert await matches(second) == ["Retry uploads"]


async def test_another_processs_disabling_is_seen_when_it_stirs() -> None:
    first = Learner()
    after = await first.promoted()
    second = Learner(store=first.store)
    assert await matches(second)
    await first.decided(after, Decision.DISABLE)
    second.watch.stir()
    assert await matches(second) == []
    assert second.catalog.promotion(after.id) is None


async def test_the_edition_moves_with_what_a_search_may_find_and_with_nothing_else() -> None:
    learner = Learner()
    edition = await learner.catalog.refresh()
    learner.watch.stir()
    assert await learner.catalog.refresh() == edition
    assert await learner.catalog.refresh(force=True) == edition
    await learner.promoted()
    assert await learner.catalog.refresh() > edition


async def test_a_stir_that_the_store_did_not_answer_to_is_not_forgotten() -> None:
    first = Learner()
    second = Learner(store=first.store)
    await second.catalog.refresh()
    await first.promoted(title="Retry uploads")
    second.watch.stir()
    first.store.fails_next = 1
    with pytest.raises(StoreUnavailable):
        await second.catalog.refresh()
    assert await matches(second) == ["Retry uploads"]


async def test_those_who_come_while_it_follows_wait_for_it() -> None:
    first = Learner()
    second = Learner(store=first.store)
    await second.catalog.refresh()
    await first.promoted(title="Retry uploads")
    second.watch.stir()
    editions = await all_of(*(second.catalog.refresh() for _ in range(5)))
    assert len(set(editions)) == 1
    assert second.catalog.revision == 1
    assert second.store.calls["changes_since"] <= 4


async def test_more_changes_than_one_portion_are_all_followed() -> None:
    learner = Learner()
    await crowd(learner.store, 1_001)
    await learner.catalog.refresh()
    assert (len(learner.catalog), learner.catalog.revision, learner.catalog.problems) == (1_001, 1_001, {})
    assert len(learner.files.texts) == 1_001
    assert len((await learner.search("lesson 1000", None, 10)).found) == 10


async def test_copies_without_embeddings_are_embedded_and_kept() -> None:
    learner = Learner()
    (one,) = await crowd(learner.store, 1)
    await learner.catalog.refresh()
    assert learner.embedder.embedded == texts_to_embed(one.title, one.body)
    second = Learner(store=learner.store)
    await second.catalog.refresh()
    assert second.embedder.embedded == []
    assert await similar(second) == ["Lesson 0"]


async def test_all_texts_of_a_call_are_embedded_in_one_batch() -> None:
    calls: list[int] = []

    class Counting(UnsteadyEmbedder):
        async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
            calls.append(len(texts))
            return await super().embed(texts)

    copies = [copy(title="One", body="# A\n\na\n\n# B\n\nb"), copy(title="Two", body=""), copy(title="Three", body="c")]
    stored = await EmbedLessons(embedder=Counting())(copies)
    assert calls == [6]
    assert [one.count for one in stored] == [3, 1, 2]
    embedder = UnsteadyEmbedder()
    for of, one in zip(copies, stored, strict=True):
        assert one.data == b"".join(await embedder.embed(texts_to_embed(of.title, of.body)))
        assert (one.embedder, one.dimension, one.bin) == (embedder.name, embedder.dimension, of.bin)


async def test_embeddings_of_a_copy_that_was_replaced_meanwhile_are_not_kept_for_the_new_one() -> None:
    embedder = Slow()
    first = Learner()
    first.embedder.away = True
    before = await first.promoted(title="Retry uploads")
    second = Learner(store=first.store, embedder=embedder)

    async def edit() -> None:
        await first.decided(before, Decision.EDIT, title="Wait for the storage")

    embedder.meanwhile.append(edit)
    await second.catalog.refresh()
    second.watch.stir()
    assert await similar(second) == ["Wait for the storage"]
    delta = await first.store.changes_since(0, embedder.name, 10)
    (item,) = delta.promoted
    assert item.vectors is not None
    texts = texts_to_embed("Wait for the storage", before.body)
    assert item.vectors.data == b"".join(await embedder.embed(texts))


async def test_a_vector_index_that_was_away_catches_up() -> None:
    learner = Learner()
    await learner.promoted(title="Retry one")
    learner.vectors.away = True
    gone = await learner.promoted(title="Retry two")
    await learner.promoted(title="Retry three")
    await learner.decided(gone, Decision.REJECT)
    assert "vectors" in learner.catalog.problems
    assert sorted(await matches(learner)) == ["Retry one", "Retry three"]
    learner.vectors.away = False
    assert await similar(learner) == ["Retry one"]
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {}
    assert await similar(learner) == ["Retry one", "Retry three"]


async def test_a_vector_index_that_is_behind_is_not_given_what_comes_later_first() -> None:
    learner = Learner()
    learner.vectors.away = True
    await learner.promoted(title="Retry one")
    learner.vectors.away = False
    await learner.promoted(title="Retry two")
    assert "vectors" in learner.catalog.problems
    await learner.catalog.reconcile()
    assert await similar(learner) == ["Retry one", "Retry two"]
    assert learner.catalog.problems == {}


async def test_a_reconciler_that_finds_the_index_still_away_says_so_and_tries_again() -> None:
    learner = Learner()
    learner.vectors.away = True
    await learner.promoted()
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {"vectors": "the fake vector index is away"}
    learner.vectors.away = False
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {}


async def test_a_vector_index_that_goes_away_is_noticed_where_nothing_has_changed() -> None:
    learner = Learner()
    await learner.promoted()
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {}
    learner.vectors.away = True
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {"vectors": "the fake vector index is away"}
    learner.vectors.away = False
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {}


async def test_a_vector_index_that_somebody_has_emptied_is_filled_again() -> None:
    learner = Learner()
    await learner.promoted(title="Retry one")
    await learner.vectors.reset(learner.embedder.name, learner.embedder.dimension)
    assert await similar(learner) == []
    await learner.catalog.reconcile()
    assert await similar(learner) == ["Retry one"]


async def test_the_edition_moves_when_the_vectors_have_caught_up() -> None:
    learner = Learner()
    learner.vectors.fails = {"apply"}
    await learner.promoted()
    edition = await learner.catalog.refresh()
    learner.vectors.fails = set()
    await learner.catalog.reconcile()
    assert await learner.catalog.refresh() > edition


async def test_an_embedder_that_was_away_is_made_up_for() -> None:
    learner = Learner()
    learner.embedder.away = True
    await learner.promoted(title="Retry one")
    assert "vectors" in learner.catalog.problems
    learner.embedder.away = False
    await learner.catalog.reconcile()
    assert await similar(learner) == ["Retry one"]
    assert learner.catalog.problems == {}


async def test_a_lessons_folder_that_was_away_catches_up() -> None:
    learner = Learner()
    learner.files.away = True
    kept = await learner.promoted(title="Retry one")
    gone = await learner.promoted(title="Retry two")
    await learner.decided(gone, Decision.DISABLE)
    assert learner.catalog.problems == {"lessons_folder": "the fake lessons folder is away"}
    assert await matches(learner) == ["Retry one"]
    learner.files.away = False
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {}
    (text,) = learner.files.texts.values()
    assert kept.title in text


async def test_a_process_that_starts_takes_up_what_a_killed_one_left_behind() -> None:
    vectors, files = UnsteadyVectorIndex(), FakeLessonFiles()
    first = Learner(vectors=vectors, files=files)
    await first.promoted(title="Retry one")
    vectors.away = files.away = True
    await first.promoted(title="Retry two")
    vectors.away = files.away = False
    second = Learner(store=first.store, vectors=vectors, files=files)
    await second.catalog.refresh()
    await second.catalog.reconcile()
    assert await similar(second) == ["Retry one", "Retry two"]
    assert len(files.texts) == 2
    assert second.catalog.problems == {}


async def test_an_index_and_a_folder_that_are_ahead_are_left_as_they_are() -> None:
    vectors, files = UnsteadyVectorIndex(), FakeLessonFiles()
    first = Learner(vectors=vectors, files=files)
    for n in range(3):
        await first.promoted(title=f"Retry {n}")
    applied, written = vectors.calls["apply"], files.applied
    second = Learner(store=first.store, vectors=vectors, files=files)
    await second.catalog.refresh()
    assert (vectors.calls["apply"], files.applied) == (applied, written)
    assert await similar(second) == ["Retry 0", "Retry 1", "Retry 2"]


async def test_an_index_and_a_folder_of_another_object_store_are_brought_to_this_one() -> None:
    vectors, files = UnsteadyVectorIndex(), FakeLessonFiles()
    other = Learner(vectors=vectors, files=files)
    for n in range(5):
        await other.promoted(title=f"Another store's {n}")
    learner = Learner(vectors=vectors, files=files)
    learner.new_id = CountingIds(0xAA)
    await learner.catalog.refresh()
    first = lesson(id=CountingIds(0xDD)(), title="Retry uploads")
    await learner.store.add([injected(first)])
    await learner.decided(first, Decision.APPROVE)
    await learner.catalog.reconcile()
    assert await similar(learner) == ["Retry uploads"]
    assert any("retry-uploads" in path for path in files.texts)


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


async def test_stored_vectors_name_their_lesson() -> None:
    (stored,) = await EmbedLessons(embedder=UnsteadyEmbedder())([copy()])
    assert isinstance(stored, StoredVectors)
    assert stored.lesson_id == copy().id
