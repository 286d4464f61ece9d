"""The catalog while the vector index, the lessons folder or the object store neither answers nor refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import anyio

from application.learner.ports import CatalogDelta, StoredVectors
from domain.errors import StoreUnavailable
from domain.learner.lesson import PromotedLesson
from tests.fakes.fake_lesson_files import FakeLessonFiles
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.system import Learner
from tests.fakes.together import together
from tests.fakes.unsteady import UnsteadyVectorIndex

Put = TypeVar("Put")


class Hanging(Generic[Put]):
    """While it `hangs`, nothing that is to be written comes to an end."""

    hangs = False

    async def apply(self, put: Sequence[Put], remove: Sequence[str], revision: int) -> None:
        if self.hangs:
            await anyio.sleep_forever()
        await super().apply(put, remove, revision)  # type: ignore[misc]


class HangingIndex(Hanging[StoredVectors], UnsteadyVectorIndex):
    pass


class HangingFiles(Hanging[PromotedLesson], FakeLessonFiles):
    pass


class DyingStore(FakeLessonStore):
    """While it `dies`, asking for changes takes 12 s and fails."""

    dies = False

    async def changes_since(self, revision: int, embedder: str, limit: int) -> CatalogDelta:
        if self.dies:
            await anyio.sleep(12)
            raise StoreUnavailable("no answer within 12 s")
        return await super().changes_since(revision, embedder, limit)


async def titles(learner: Learner) -> list[str]:
    return sorted(found.copy.title for found in (await learner.search("retry", None, 10)).found)


async def one_decision_is_held_up(learner: Learner, part: Hanging[Any], name: str) -> None:
    """Three decisions, of which the second one waits for the part of this name, which hangs from then on."""
    await learner.promoted(title="Retry one")
    part.hangs = True
    start = anyio.current_time()
    with anyio.fail_after(60):
        await learner.promoted(title="Retry two")
    assert anyio.current_time() - start == 5
    assert learner.catalog.problems == {name: "it did not take a change over within 5 s"}
    await learner.promoted(title="Retry three")
    assert anyio.current_time() - start == 5
    assert await titles(learner) == ["Retry one", "Retry three", "Retry two"]


async def matching_goes_on(learner: Learner, part: Hanging[Any]) -> None:
    """While the reconciler waits for the part, lessons are promoted and found, and nobody waits."""
    await learner.catalog.refresh()
    part.hangs = True
    with anyio.fail_after(60):
        await learner.promoted(title="Retry one")
    async with anyio.create_task_group() as group:
        group.start_soon(learner.catalog.reconcile)
        await anyio.sleep(1)
        start = anyio.current_time()
        await learner.promoted(title="Retry two")
        assert await titles(learner) == ["Retry one", "Retry two"]
        assert anyio.current_time() == start
        group.cancel_scope.cancel()
    part.hangs = False
    await learner.catalog.reconcile()
    assert learner.catalog.problems == {}


async def test_a_vector_index_that_hangs_holds_up_one_decision_for_five_seconds_and_no_other() -> None:
    vectors = HangingIndex()
    await one_decision_is_held_up(Learner(vectors=vectors), vectors, "vectors")


async def test_matching_goes_on_while_the_reconciler_waits_for_a_vector_index_that_hangs() -> None:
    vectors = HangingIndex()
    await matching_goes_on(Learner(vectors=vectors), vectors)


async def test_a_lessons_folder_that_hangs_holds_up_one_decision_for_five_seconds_and_no_other() -> None:
    files = HangingFiles()
    learner = Learner(files=files)
    await one_decision_is_held_up(learner, files, "lessons_folder")
    files.hangs = False
    await learner.catalog.reconcile()
    assert (len(files.texts), learner.catalog.problems) == (3, {})
    await learner.promoted(title="Retry four")
    assert len(files.texts) == 4


async def test_matching_goes_on_while_the_reconciler_waits_for_a_lessons_folder_that_hangs() -> None:
    files = HangingFiles()
    await matching_goes_on(Learner(files=files), files)


async def test_those_who_wait_while_the_object_store_fails_one_of_them_fail_with_it() -> None:
    store = DyingStore()
    learner = Learner(store=store)
    await learner.catalog.refresh()
    store.dies = True
    learner.watch.stir()
    start = anyio.current_time()
    results = await together(*(learner.catalog.refresh() for _ in range(20)))
    assert all(isinstance(one, StoreUnavailable) for one in results)
    assert anyio.current_time() - start == 12
    store.dies = False
    assert await learner.catalog.refresh() >= 0
