"""Injecting lessons."""

from __future__ import annotations

import pytest

from application.learner.ports import LessonFilter
from domain.errors import KeyReused, StoreUnavailable
from domain.learner.lesson import Bin, Status
from domain.learner.log import Event, LogEntry
from tests.fakes.clock import START
from tests.fakes.examples import ODD, draft, request
from tests.fakes.system import Learner


async def test_an_injected_lesson_awaits_its_first_review() -> None:
    learner = Learner()
    content = draft(bin=Bin.KNOWLEDGE, title=ODD, body=ODD, tags=("a", "A"), dsl_payload={"action": "x"}, source="me")
    (lesson,) = await learner.inject([content], actor="a key's name")
    assert (lesson.status, lesson.version, lesson.review_round) == (Status.PENDING_REVIEW, 1, 0)
    assert (lesson.bin, lesson.title, lesson.body) == (Bin.KNOWLEDGE, ODD, ODD)
    assert (lesson.tags, lesson.dsl_payload, lesson.source) == (("a", "A"), {"action": "x"}, "me")
    assert lesson.created_at == lesson.updated_at == START
    assert await learner.store.get(lesson.id) == lesson
    assert [(found, why.reason) for found, why in (await learner.store.queue()).waiting] == [(lesson, "injected")]


async def test_the_log_says_who_injected_it_and_where_it_is_from() -> None:
    learner = Learner()
    (named,) = await learner.inject([draft(source="an agent")], actor="a key's name")
    (plain,) = await learner.inject([draft()], actor="a key's name")
    assert list(await learner.store.log(named.id)) == [
        LogEntry(
            lesson_id=named.id, event=Event.INJECTED, at=START, actor="a key's name", detail={"source": "an agent"}
        )
    ]
    assert [entry.detail for entry in await learner.store.log(plain.id)] == [{}]


async def test_nothing_matches_an_injected_lesson() -> None:
    learner = Learner()
    await learner.injected()
    assert await learner.store.revision() == 0
    assert not (await learner.search("retry", None, 10)).found


async def test_a_batch_is_answered_in_its_order_and_stored_whole() -> None:
    learner = Learner()
    lessons = await learner.inject([draft(title=f"Lesson {n}") for n in range(5)], actor="an agent")
    assert [lesson.title for lesson in lessons] == [f"Lesson {n}" for n in range(5)]
    assert len({lesson.id for lesson in lessons}) == 5
    page = await learner.store.page(LessonFilter(), 10, None)
    assert list(page.lessons) == lessons[::-1]


async def test_a_store_that_is_away_stores_nothing() -> None:
    learner = Learner()
    learner.store.fails_next = 1
    with pytest.raises(StoreUnavailable):
        await learner.injected()
    assert not (await learner.store.page(LessonFilter(), 10, None)).lessons


async def test_a_repeated_request_gets_the_first_answer_and_injects_nothing() -> None:
    learner = Learner()
    first = await learner.inject([draft(dsl_payload={"n": 2**70}, tags=("a",))], actor="an agent", request=request())
    again = await learner.inject([draft(dsl_payload={"n": 2**70}, tags=("a",))], actor="an agent", request=request())
    assert again == first
    assert len((await learner.store.page(LessonFilter(), 10, None)).lessons) == 1


async def test_a_key_with_another_body_is_refused() -> None:
    learner = Learner()
    await learner.inject([draft()], actor="an agent", request=request())
    with pytest.raises(KeyReused):
        await learner.inject([draft(title="Another")], actor="an agent", request=request(fingerprint="f2"))
