"""Lessons come in whole, one by one or many at once."""

from __future__ import annotations

import msgspec
import pytest

from application.learner.ports import (
    LessonChange,
    LessonStore,
)
from domain.errors import UnknownLesson
from domain.learner.log import Event
from tests.contract.lesson_store.stories import (
    FULL,
    PAYLOAD,
    UNKNOWN,
    added,
    everything,
    many,
)
from tests.fakes.clock import START
from tests.fakes.examples import (
    ODD,
    every_field_given,
    injected,
    lesson,
    log_entry,
    request,
)
from tests.fakes.together import together


async def test_a_lesson_comes_back_as_it_was_stored(lessons: LessonStore) -> None:
    assert every_field_given(FULL)
    entry = log_entry(at=START.replace(microsecond=3), actor=ODD, detail=PAYLOAD)
    assert await lessons.add([LessonChange(lesson=FULL, expected=None, log=[entry])]) is None
    assert await lessons.get(FULL.id) == FULL
    assert await everything(lessons) == [FULL]
    assert list(await lessons.log(FULL.id)) == [entry]


@pytest.mark.parametrize("payload", [None, {}, {"action": None}])
async def test_no_payload_is_another_thing_than_an_empty_one(lessons: LessonStore, payload: object) -> None:
    one = lesson(dsl_payload=payload, tags=(), source="")
    await added(lessons, one)
    assert await lessons.get(one.id) == one


@pytest.mark.parametrize("lesson_id", [UNKNOWN, "nonsense", "", ODD])
async def test_an_unknown_lesson_is_an_error_of_its_own(lessons: LessonStore, lesson_id: str) -> None:
    with pytest.raises(UnknownLesson):
        await lessons.get(lesson_id)
    with pytest.raises(UnknownLesson):
        await lessons.log(lesson_id)
    with pytest.raises(UnknownLesson):
        await lessons.erase(lesson_id, log_entry(Event.ERASED))


async def test_lessons_are_added_all_or_none(lessons: LessonStore) -> None:
    good = many(4)
    twice = msgspec.structs.replace(good[1], title="The same id again")
    results = await together(lessons.add([injected(one) for one in [*good, twice]], request()))
    assert isinstance(results[0], Exception)
    assert await everything(lessons) == []
    assert await lessons.answered(request()) is None
    await added(lessons, *good)
    assert await everything(lessons) == good[::-1]


async def test_a_bad_lesson_fails_only_its_own_request(lessons: LessonStore) -> None:
    good = many(5)
    unstorable = lesson(dsl_payload={"half of a pair": "\ud83e"})
    results = await together(*(lessons.add([injected(one)]) for one in [*good[:3], unstorable, *good[3:]]))
    assert [isinstance(one, Exception) for one in results] == [False, False, False, True, False, False]
    assert await everything(lessons) == good[::-1]
