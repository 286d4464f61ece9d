"""A promoted copy that was found before is not read again, and is forgotten once the catalog has heard of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from application.learner.remembered_copies import RememberedCopies
from domain.learner.lesson import Decision, PromotedLesson
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.system import Learner


class SlowStore(FakeLessonStore):
    """The copies that were there `takes` seconds ago."""

    takes = 0.0

    async def copies(self, lesson_ids: Sequence[str]) -> dict[str, PromotedLesson]:
        copies = await super().copies(lesson_ids)
        await anyio.sleep(self.takes)
        return copies


async def offered(learner: Learner) -> list[str]:
    """The titles that the language model is offered."""
    return [found.copy.title for found in (await learner.search.most_similar("retry", 10)).found]


async def test_what_was_found_before_is_not_read_again() -> None:
    learner = Learner()
    await learner.promoted(title="Retry one")
    assert await offered(learner) == ["Retry one"]
    learner.store.calls.clear()
    assert await offered(learner) == ["Retry one"]
    assert "copies" not in learner.store.calls
    await learner.promoted(title="Retry two")
    assert sorted(await offered(learner)) == ["Retry one", "Retry two"]
    assert learner.store.calls["copies"] == 1


async def test_a_decision_in_this_process_counts_at_once() -> None:
    learner = Learner()
    lesson = await learner.promoted(title="Retry one")
    assert await offered(learner) == ["Retry one"]
    lesson = await learner.decided(lesson, Decision.EDIT, title="Retry anew")
    assert await offered(learner) == ["Retry anew"]
    await learner.decided(lesson, Decision.DISABLE)
    assert await offered(learner) == []


async def test_another_process_s_decision_counts_once_it_is_noticed() -> None:
    first = Learner()
    lessons = [await first.promoted(title=f"Retry {n}") for n in range(2)]
    second = Learner(store=first.store)
    assert sorted(await offered(second)) == ["Retry 0", "Retry 1"]
    await first.decided(lessons[0], Decision.EDIT, title="Retry anew")
    await first.decided(lessons[1], Decision.DISABLE)
    second.watch.stir()
    assert await offered(second) == ["Retry anew"]


async def test_a_copy_that_changed_while_it_was_read_is_not_remembered() -> None:
    store = SlowStore()
    learner = Learner(store=store)
    lesson = await learner.promoted(title="Retry one")
    store.takes = 1.0
    async with anyio.create_task_group() as group:
        group.start_soon(offered, learner)
        await anyio.sleep(0.5)
        await learner.decided(lesson, Decision.EDIT, title="Retry anew")
    assert await offered(learner) == ["Retry anew"]


async def test_the_copies_found_least_recently_are_forgotten_first() -> None:
    learner = Learner()
    one, two, three = [(await learner.promoted(title="Retry", body="x" * 1_000)).id for _ in range(3)]
    copies = RememberedCopies(store=learner.store, catalog=learner.catalog, most_bytes=5_000)
    for asked in (one, two, one, three):
        await copies([asked])
    learner.store.calls.clear()
    assert set(await copies([one, three])) == {one, three}
    assert "copies" not in learner.store.calls
    assert set(await copies([two])) == {two}
    assert learner.store.calls["copies"] == 1


async def test_a_copy_larger_than_all_the_room_is_not_remembered() -> None:
    learner = Learner()
    lesson = await learner.promoted(title="Retry", body="x" * 5_000)
    copies = RememberedCopies(store=learner.store, catalog=learner.catalog, most_bytes=5_000)
    for _ in range(2):
        assert set(await copies([lesson.id])) == {lesson.id}
    assert learner.store.calls["copies"] >= 2


@pytest.mark.parametrize(
    "content",
    [
        {"dsl_payload": {"action": "repair", "instruction_template": "Restart it.", "notes": ["x" * 100] * 50}},
        {"tags": tuple(f"{number:0100}" for number in range(50))},
        {"title": "é" * 2_500},
    ],
)
async def test_all_of_a_copy_counts_against_the_room(content: dict[str, Any]) -> None:
    learner = Learner()
    lesson = await learner.promoted(**content)
    copies = RememberedCopies(store=learner.store, catalog=learner.catalog, most_bytes=5_000)
    learner.store.calls.clear()
    for _ in range(2):
        assert set(await copies([lesson.id])) == {lesson.id}
    assert learner.store.calls["copies"] == 2
