"""Repeated injections, and their answers that are kept."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from application.learner.ports import (
    LessonStore,
)
from domain.errors import KeyReused, RequestInProgress
from tests.contract.lesson_store.stories import (
    everything,
    many,
)
from tests.fakes.clock import START
from tests.fakes.examples import (
    ODD,
    injected,
    request,
)
from tests.fakes.together import together


async def test_a_repeated_injection_has_one_effect_and_the_first_answer(lessons: LessonStore) -> None:
    one, other = many(2)
    first = request(answer=ODD.encode())
    assert await lessons.answered(first) is None
    assert await lessons.add([injected(one)], first) is None
    again = msgspec.structs.replace(first, at=START + timedelta(hours=23, minutes=59), answer=b"another")
    assert await lessons.add([injected(other)], again) == ODD.encode()
    assert await lessons.answered(again) == ODD.encode()
    assert await everything(lessons) == [one]


async def test_a_key_that_comes_again_with_another_body_is_refused(lessons: LessonStore) -> None:
    one, other = many(2)
    await lessons.add([injected(one)], request())
    with pytest.raises(KeyReused):
        await lessons.add([injected(other)], request(fingerprint="f2"))
    with pytest.raises(KeyReused):
        await lessons.answered(request(fingerprint="f2"))
    assert await everything(lessons) == [one]


async def test_a_key_belongs_to_its_scope_and_is_free_again_after_24_hours(lessons: LessonStore) -> None:
    new = many(4)
    tomorrow = request(at=START + timedelta(hours=24), fingerprint="f2", answer=b"tomorrow's")
    for one, key in zip(new, [request(), request(scope="another"), request("K1"), tomorrow], strict=True):
        assert await lessons.add([injected(one)], key) is None
    assert await lessons.answered(tomorrow) == b"tomorrow's"
    assert len(await everything(lessons)) == 4


async def test_equal_injections_side_by_side_have_one_effect(lessons: LessonStore) -> None:
    new = many(8)
    answers = [f"answer {n}".encode() for n in range(len(new))]
    results = await together(
        *(lessons.add([injected(one)], request(answer=answer)) for one, answer in zip(new, answers, strict=True))
    )
    (stored,) = await everything(lessons)
    winner = new.index(stored)
    for n, result in enumerate(results):
        if not isinstance(result, RequestInProgress):
            assert result == (None if n == winner else answers[winner])


async def test_old_answers_can_be_forgotten(lessons: LessonStore) -> None:
    one, other = many(2)
    later = START + timedelta(hours=2)
    await lessons.add([injected(one)], request("old"))
    await lessons.add([injected(other)], request("new", at=later))
    await lessons.forget_requests(START + timedelta(hours=1))
    assert await lessons.answered(request("old")) is None
    assert await lessons.answered(request("new", at=later)) == request().answer
