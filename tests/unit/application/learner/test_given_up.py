"""A decision whose caller gives up halfway: what the object store goes on to store, matching follows all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import pytest

from application.learner.ports import LessonChange, LessonFilter
from application.shared.unbroken import ended
from domain.errors import StoreUnavailable
from domain.learner.lesson import Decision, Lesson
from domain.learner.log import LogEntry
from tests.fakes.examples import ESCALATION_ID, flag
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.system import Learner

STORING_S = 3.0


class Slow(FakeLessonStore):
    """As a database it goes on with what was begun when its caller is cancelled; `slow` makes that take its time."""

    slow = False

    async def change(self, change: LessonChange) -> bool:
        return await self._going_on(lambda: super(Slow, self).change(change))

    async def erase(self, lesson_id: str, entry: LogEntry) -> None:
        await self._going_on(lambda: super(Slow, self).erase(lesson_id, entry))

    async def _going_on(self, work: Callable[[], Awaitable[bool | None]]) -> bool:
        async def worked() -> bool:
            await anyio.sleep(STORING_S if self.slow else 0)
            return bool(await work())

        return await asyncio.shield(asyncio.get_running_loop().create_task(worked()))


async def disabled_at_run_time(learner: Learner, lesson: Lesson) -> None:
    await learner.escalate.disable(lesson.id, 1, ESCALATION_ID, flag())


async def rejected(learner: Learner, lesson: Lesson) -> None:
    await learner.decided(lesson, Decision.REJECT)


async def erased(learner: Learner, lesson: Lesson) -> None:
    await learner.erase(lesson.id, actor="a person")


async def the_lesson(learner: Learner) -> Lesson:
    (lesson,) = (await learner.store.page(LessonFilter(), 10, None)).lessons
    return lesson


async def matches(learner: Learner) -> bool:
    """Whether the language model would be offered a lesson."""
    return bool((await learner.search.most_similar("retry", 10)).found)


@pytest.fixture
async def learner() -> Learner:
    store = Slow()
    learner = Learner(store=store)
    await learner.promoted()
    assert await matches(learner)
    store.slow = True
    return learner


HALFWAY = STORING_S - 1
TAKEN_BACK = pytest.mark.parametrize("taken_back", [disabled_at_run_time, rejected, erased])


@TAKEN_BACK
async def test_a_lesson_that_is_taken_back_after_its_caller_gave_up_matches_no_more(
    learner: Learner, taken_back: Callable[[Learner, Lesson], Awaitable[None]]
) -> None:
    lesson = await the_lesson(learner)
    with anyio.move_on_after(HALFWAY) as scope:
        await taken_back(learner, lesson)
    assert scope.cancelled_caught
    assert await matches(learner)
    await anyio.sleep(STORING_S)
    assert not await learner.store.copies([lesson.id])
    assert not await matches(learner)


@TAKEN_BACK
async def test_the_end_of_a_service_waits_a_moment_for_it(
    learner: Learner, taken_back: Callable[[Learner, Lesson], Awaitable[None]]
) -> None:
    lesson = await the_lesson(learner)
    with anyio.move_on_after(HALFWAY):
        await taken_back(learner, lesson)
    await ended(within_s=0.5)
    assert await matches(learner)
    await ended(within_s=2 * STORING_S)
    assert not await matches(learner)


@TAKEN_BACK
async def test_what_cannot_be_stored_after_all_is_told_to_nobody(
    learner: Learner, taken_back: Callable[[Learner, Lesson], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    lesson = await the_lesson(learner)
    with anyio.move_on_after(HALFWAY):
        await taken_back(learner, lesson)
    learner.store.away = True
    await ended(within_s=2 * STORING_S)
    with pytest.raises(StoreUnavailable):
        await taken_back(learner, lesson)
    assert caplog.text == ""
