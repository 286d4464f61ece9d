"""The review queue."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from application.learner.ports import (
    LessonChange,
    LessonFilter,
    LessonStore,
)
from domain.errors import InvalidInput
from domain.learner.lesson import Lesson, Status
from domain.learner.log import Event, QueuedLesson
from tests.contract.lesson_store.stories import (
    LATER,
    added,
    many,
    promote,
)
from tests.fakes.examples import (
    ODD,
    flag,
    log_entry,
)


async def test_the_queue_holds_what_awaits_review_longest_waiting_first(lessons: LessonStore) -> None:
    one, other, third, fourth = many(4)
    await added(lessons, fourth, other, one, third)
    await promote(lessons, other)
    queue = (await lessons.queue()).waiting
    assert [found for found, _ in queue] == [one, third, fourth]
    assert [found for found, _ in (await lessons.queue(2)).waiting] == [one, third]
    for found, why in queue:
        assert (why.lesson_id, why.reason, why.flag) == (found.id, "injected", None)


async def test_the_queue_goes_on_where_a_page_ended_also_among_lessons_of_one_moment(lessons: LessonStore) -> None:
    waiting = [*many(3), *many(7, updated_at=LATER)[3:]]
    await added(lessons, *waiting)
    reason = flag(reason="3 failed")
    for one in waiting[4:6]:
        entry = log_entry(Event.RUNTIME_FAILURE_FLAGGED, lesson_id=one.id, detail=reason.as_detail())
        assert await lessons.change(LessonChange(lesson=one, expected=one, log=[entry]))
    found: list[tuple[Lesson, QueuedLesson]] = []
    cursor: str | None = None
    while not found or cursor is not None:
        page = await lessons.queue(2, cursor)
        assert len(page.waiting) == 2 or page.next_cursor is None
        found += page.waiting
        cursor = page.next_cursor
        await promote(lessons, page.waiting[0][0])
    assert [one for one, _ in found] == sorted(waiting, key=lambda one: (one.updated_at, one.id))
    assert {one.id for one, why in found if why.flag == reason} == {one.id for one in waiting[4:6]}


async def test_a_flagged_lesson_is_queued_with_its_last_flag_from_when_it_came_back(lessons: LessonStore) -> None:
    flagged, waiting, newer = many(3)
    await added(lessons, flagged, waiting, newer)
    current = await promote(lessons, flagged)
    back = msgspec.structs.replace(
        current, status=Status.PENDING_REVIEW, updated_at=newer.updated_at - timedelta(milliseconds=500)
    )
    first, last = flag(reason="first"), flag(reason=ODD, failure_count=4, feedback={"failure": 4, "success": 2**40})
    for before, why in ((current, first), (back, last)):
        entry = log_entry(Event.RUNTIME_FAILURE_FLAGGED, lesson_id=flagged.id, detail=why.as_detail())
        assert await lessons.change(LessonChange(lesson=back, expected=before, log=[entry]))
    queue = (await lessons.queue()).waiting
    assert [found for found, _ in queue] == [waiting, back, newer]
    (_, _), (_, why_back), (_, _) = queue
    assert (why_back.reason, why_back.flag) == (ODD, last)
    decided = msgspec.structs.replace(back, status=Status.REJECTED)
    assert await lessons.change(LessonChange(lesson=decided, expected=back, log=[log_entry(lesson_id=back.id)]))
    assert [found for found, _ in (await lessons.queue()).waiting] == [waiting, newer]


async def test_pages_and_the_review_queue_refuse_each_others_cursors(lessons: LessonStore) -> None:
    await added(lessons, *many(3))
    of_page = (await lessons.page(LessonFilter(), 1, None)).next_cursor
    of_queue = (await lessons.queue(1)).next_cursor
    with pytest.raises(InvalidInput):
        await lessons.page(LessonFilter(), 2, of_queue)
    with pytest.raises(InvalidInput):
        await lessons.queue(2, of_page)
