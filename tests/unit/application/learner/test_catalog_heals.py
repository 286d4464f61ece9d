"""What is derived from the object store heals by itself after any failure."""

from __future__ import annotations

from domain.learner.lesson import Decision
from tests.fakes.clock import CountingIds
from tests.fakes.examples import injected, lesson
from tests.fakes.fake_lesson_files import FakeLessonFiles
from tests.fakes.system import Learner
from tests.fakes.unsteady import UnsteadyVectorIndex
from tests.unit.application.learner.catalogs import matches, similar


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
