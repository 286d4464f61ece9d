"""An object store that is replaced, or restored from a backup, beneath a process that runs."""

from __future__ import annotations

from copy import deepcopy

from application.learner.files_in_step import FilesInStep
from application.learner.ports import CatalogDelta
from application.learner.vectors_in_step import VectorsInStep
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.system import Learner


class Patient(FakeLessonStore):
    """Is asked for changes a few times only."""

    async def changes_since(self, revision: int, embedder: str, limit: int) -> CatalogDelta:
        delta = await super().changes_since(revision, embedder, limit)
        assert self.calls["changes_since"] < 20
        return delta


def restore(store: FakeLessonStore, backup: FakeLessonStore) -> None:
    vars(store).update(vars(deepcopy(backup)))


async def titles(learner: Learner, query: str = "retry") -> list[str]:
    return sorted(found.copy.title for found in (await learner.search(query, None, 10)).found)


async def similar(learner: Learner) -> list[str]:
    return sorted(found.copy.title for found in (await learner.search.most_similar("retry", 10)).found)


async def at_three_with_a_backup_of_one() -> tuple[Learner, FakeLessonStore]:
    learner = Learner()
    await learner.promoted(title="Retry one")
    backup = deepcopy(learner.store)
    await learner.promoted(title="Retry two")
    await learner.promoted(title="Retry three")
    return learner, backup


async def test_everything_follows_the_restored_store() -> None:
    learner, backup = await at_three_with_a_backup_of_one()
    edition = await learner.catalog.refresh()
    restore(learner.store, backup)
    await learner.catalog.reconcile()
    assert await learner.catalog.refresh() > edition
    assert (learner.catalog.revision, len(learner.catalog), learner.catalog.problems) == (1, 1, {})
    assert await titles(learner) == await similar(learner) == ["Retry one"]
    assert await learner.files.revision() == await learner.vectors.prepare(learner.embedder.name, 64) == 1


async def test_what_is_promoted_in_the_restored_store_matches_at_once() -> None:
    learner, backup = await at_three_with_a_backup_of_one()
    restore(learner.store, backup)
    await learner.promoted(title="Retry four")
    assert await titles(learner) == await similar(learner) == ["Retry four", "Retry one"]
    assert any("retry-four" in path for path in learner.files.texts)
    assert learner.catalog.problems == {}


async def test_an_empty_store_in_place_of_the_old_one_leaves_nothing_to_match() -> None:
    learner, _ = await at_three_with_a_backup_of_one()
    restore(learner.store, FakeLessonStore())
    await learner.catalog.reconcile()
    assert (learner.catalog.revision, len(learner.catalog), await titles(learner)) == (0, 0, [])
    assert await learner.vectors.nearest((await learner.embedder.embed(["retry"]))[0], 10) == []


async def test_an_index_and_a_folder_that_come_back_when_the_old_revision_is_passed_hold_nothing_of_the_old() -> None:
    learner, backup = await at_three_with_a_backup_of_one()
    learner.vectors.away = learner.files.away = True
    restore(learner.store, backup)
    for n in range(4):
        await learner.promoted(title=f"Retry new {n}")
    assert learner.catalog.revision > 3
    learner.vectors.away = learner.files.away = False
    await learner.catalog.reconcile()
    now = ["Retry new 0", "Retry new 1", "Retry new 2", "Retry new 3", "Retry one"]
    assert await titles(learner) == await similar(learner) == now
    assert sum("retry-new" in path for path in learner.files.texts) == 4
    assert learner.catalog.problems == {}


async def test_catching_up_with_a_revision_that_the_store_does_not_have_comes_to_an_end() -> None:
    learner = Learner(store=Patient())
    await learner.promoted()

    async def changes(since: int) -> CatalogDelta:
        return await learner.store.changes_since(since, learner.embedder.name, 500)

    vectors = VectorsInStep(
        store=learner.store,
        vectors=learner.vectors,
        embedder=learner.embedder,
        embed=learner.embed,
        changes=changes,
        revision=lambda: 5,
    )
    files = FilesInStep(store=learner.store, files=learner.files, changes=changes, revision=lambda: 5)
    assert await vectors.catch_up() == 0
    await files.catch_up()
    assert vectors.problem == files.problem == "it is behind and will be brought up to date"
