"""An erased lesson leaves nothing behind."""

from __future__ import annotations

import msgspec
import pytest

from application.learner.ports import (
    LessonStore,
)
from domain.errors import AnswerErased, UnknownLesson
from domain.learner.log import Event, LogEntry
from tests.contract.lesson_store.stories import (
    LATER,
    added,
    embedded,
    everything,
    followed,
    many,
    promote,
    promotion,
)
from tests.fakes.examples import (
    injected,
    lesson,
    log_entry,
    request,
)


async def test_an_erased_lesson_leaves_nothing_behind(lessons: LessonStore) -> None:
    secret, other = many(2, body="A secret")
    kept = msgspec.json.encode([secret])
    await lessons.add([injected(secret)], request(answer=kept))
    await lessons.add([injected(other)], request("another", answer=msgspec.json.encode([other])))
    current = await promote(lessons, secret)
    await lessons.put_vectors([embedded(current)])
    entry = LogEntry(lesson_id=secret.id, event=Event.ERASED, at=LATER, actor="an admin", detail={})
    await lessons.erase(secret.id, entry)
    with pytest.raises(UnknownLesson):
        await lessons.get(secret.id)
    assert await everything(lessons) == [other]
    assert [found for found, _ in (await lessons.queue()).waiting] == [other]
    assert await lessons.copies([secret.id]) == {}
    assert list(await lessons.embedders()) == []
    (delta,) = await followed(lessons, 1)
    assert (list(delta.promoted), list(delta.removed), delta.revision) == ([], [secret.id], 2)
    with pytest.raises(AnswerErased):
        await lessons.answered(request())
    assert await lessons.answered(request("another")) is not None


async def test_a_batch_that_is_repeated_after_one_of_it_was_erased_is_not_stored_again(lessons: LessonStore) -> None:
    secret, other = many(2)
    kept = request(answer=msgspec.json.encode([secret, other]))
    await lessons.add([injected(secret), injected(other)], kept)
    await lessons.erase(secret.id, log_entry(Event.ERASED, lesson_id=secret.id))
    with pytest.raises(AnswerErased):
        await lessons.add([injected(one) for one in many(4)[2:]], kept)
    assert await everything(lessons) == [other]


async def test_a_lesson_that_was_never_promoted_is_erased_without_moving_the_revision(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    await lessons.erase(lesson().id, log_entry(Event.ERASED))
    assert await lessons.revision() == 0
    assert await everything(lessons) == []


async def test_a_decision_on_an_erased_lesson_is_not_stored(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    await lessons.erase(before.id, log_entry(Event.ERASED))
    assert not await lessons.change(promotion(before))
    assert await everything(lessons) == []
    assert await lessons.revision() == 0
