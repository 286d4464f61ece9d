"""The catalog follows the object store: what is promoted, at once and in every process."""

from __future__ import annotations

import pytest

from domain.errors import StoreUnavailable
from domain.learner.lesson import Bin, Decision
from tests.fakes.system import Learner
from tests.fakes.together import all_of
from tests.unit.application.learner.catalogs import crowd, matches


async def test_an_empty_store_is_an_empty_catalog() -> None:
    learner = Learner()
    await learner.catalog.refresh()
    assert (learner.catalog.revision, len(learner.catalog), learner.catalog.problems) == (0, 0, {})
    assert learner.catalog.promotion("unknown") is None


async def test_a_promotion_is_known_with_its_bin_and_its_version() -> None:
    learner = Learner()
    after = await learner.promoted(bin=Bin.KNOWLEDGE)
    promotion = learner.catalog.promotion(after.id)
    assert promotion is not None
    assert (promotion.bin, promotion.version) == (Bin.KNOWLEDGE, after.version)
    assert (learner.catalog.revision, len(learner.catalog)) == (1, 1)


async def test_a_copy_is_still_there_until_a_decision_takes_it_back_or_replaces_it() -> None:
    learner = Learner()
    lesson = await learner.promoted()
    found = (await learner.store.copies([lesson.id]))[lesson.id]
    assert await learner.catalog.still_has(found)
    edited = await learner.decided(lesson, Decision.EDIT, body="Better.")
    assert not await learner.catalog.still_has(found)
    newer = (await learner.store.copies([lesson.id]))[lesson.id]
    assert await learner.catalog.still_has(newer)
    await learner.decided(edited, Decision.DISABLE)
    assert not await learner.catalog.still_has(newer)


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
