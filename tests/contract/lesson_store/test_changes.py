"""Decisions and escalations, each stored whole or not at all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from application.learner.ports import (
    LessonChange,
    LessonStore,
)
from domain.learner.lesson import Status
from domain.learner.log import Event
from tests.contract.lesson_store.stories import (
    FULL,
    LATER,
    PAYLOAD,
    UNKNOWN,
    added,
    followed,
    many,
    promoted_now,
    promotion,
)
from tests.fakes.clock import CountingIds
from tests.fakes.examples import (
    ESCALATION_ID,
    ODD,
    flag,
    lesson,
    log_entry,
    promoted,
)
from tests.fakes.together import all_of


async def test_a_change_is_stored_whole(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    after = msgspec.structs.replace(FULL, id=before.id, created_at=before.created_at)
    entries = [
        log_entry(Event.EDITED, at=LATER, actor=ODD, detail=PAYLOAD),
        log_entry(Event.DISABLED, at=LATER, detail={}),
    ]
    assert await lessons.change(LessonChange(lesson=after, expected=before, log=entries))
    assert await lessons.get(before.id) == after
    assert list(await lessons.log(before.id))[1:] == entries


@pytest.mark.parametrize(
    "other",
    [
        {"status": Status.PENDING_REVIEW},
        {"version": 3},
        {"review_round": 2},
        {"title": "Retry Uploads"},
        {"dsl_payload": {}},
        {"updated_at": LATER},
        {"disabled_by_escalation": True},
    ],
)
async def test_a_change_of_a_row_that_is_not_as_expected_changes_nothing(
    lessons: LessonStore, other: dict[str, Any]
) -> None:
    now = promoted()
    await added(lessons, now)
    outdated = msgspec.structs.replace(now, **other)
    assert not await lessons.change(promotion(outdated))
    assert await lessons.get(now.id) == now
    assert len(await lessons.log(now.id)) == 1
    assert await lessons.copies([now.id]) == {}
    assert await lessons.revision() == 0


async def test_of_decisions_side_by_side_one_is_stored(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    changes = [promotion(before, promoted_now(before, title=f"Title {n}")) for n in range(8)]
    stored = await all_of(*map(lessons.change, changes))
    assert stored.count(True) == 1
    winner = changes[stored.index(True)]
    assert await lessons.get(before.id) == winner.lesson
    assert await lessons.copies([before.id]) == {before.id: winner.promote}
    assert [one.event for one in await lessons.log(before.id)] == [Event.INJECTED, Event.APPROVED]
    assert await lessons.revision() == 1


async def test_of_decisions_at_two_processes_one_is_stored(two_lesson_stores: tuple[LessonStore, LessonStore]) -> None:
    before = lesson()
    await added(two_lesson_stores[0], before)
    changes = [promotion(before, promoted_now(before, title=f"Title {n}")) for n in range(6)]
    stored = await all_of(*(two_lesson_stores[n % 2].change(change) for n, change in enumerate(changes)))
    assert stored.count(True) == 1
    for store in two_lesson_stores:
        assert await store.get(before.id) == changes[stored.index(True)].lesson
        assert len(await store.log(before.id)) == 2


async def test_decisions_on_different_lessons_do_not_disturb_each_other(lessons: LessonStore) -> None:
    before = many(10)
    await added(lessons, *before)
    assert all(await all_of(*(lessons.change(promotion(one)) for one in before)))
    (delta,) = await followed(lessons)
    assert {item.copy.id for item in delta.promoted} == {one.id for one in before}
    assert delta.revision == await lessons.revision() == 10


async def test_a_change_may_append_to_the_log_alone(lessons: LessonStore) -> None:
    waiting = lesson(status=Status.PENDING_REVIEW)
    await added(lessons, waiting)
    flags = [log_entry(Event.RUNTIME_FAILURE_FLAGGED, at=LATER, detail={"number": n}) for n in range(3)]
    for n, entry in enumerate(flags):
        change = LessonChange(lesson=waiting, expected=waiting, log=[entry], escalation_id=CountingIds(50 + n)())
        assert await lessons.change(change)
    assert await lessons.get(waiting.id) == waiting
    assert list(await lessons.log(waiting.id))[1:] == flags


async def test_an_escalation_has_one_effect(lessons: LessonStore) -> None:
    waiting = lesson()
    await added(lessons, waiting)
    assert not await lessons.escalation_applied(ESCALATION_ID)
    entry = log_entry(Event.RUNTIME_FAILURE_FLAGGED, detail=flag().as_detail())
    change = LessonChange(lesson=waiting, expected=waiting, log=[entry], escalation_id=ESCALATION_ID)
    assert await lessons.change(change)
    assert await lessons.escalation_applied(ESCALATION_ID)
    assert not await lessons.change(change)
    assert len(await lessons.log(waiting.id)) == 2
    assert not await lessons.escalation_applied(UNKNOWN)


async def test_an_escalation_applied_side_by_side_has_one_effect(lessons: LessonStore) -> None:
    waiting = lesson()
    await added(lessons, waiting)
    entry = log_entry(Event.RUNTIME_FAILURE_FLAGGED)
    change = LessonChange(lesson=waiting, expected=waiting, log=[entry], escalation_id=ESCALATION_ID)
    stored = await all_of(*(lessons.change(change) for _ in range(6)))
    assert stored.count(True) == 1
    assert len(await lessons.log(waiting.id)) == 2


async def test_an_escalation_that_came_too_late_was_not_applied(lessons: LessonStore) -> None:
    now = promoted()
    await added(lessons, now)
    outdated = msgspec.structs.replace(now, version=1)
    change = LessonChange(lesson=now, expected=outdated, log=[log_entry()], escalation_id=ESCALATION_ID)
    assert not await lessons.change(change)
    assert not await lessons.escalation_applied(ESCALATION_ID)
