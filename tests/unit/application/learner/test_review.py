"""Review decisions, erasure, and people who decide at the same time."""

from __future__ import annotations

from typing import Any

import pytest

from application.learner.ports import LessonChange, LessonFilter
from application.learner.review import ReviewCommand
from domain.errors import DecisionNotAllowed, StaleVersion, StoreUnavailable, UnknownLesson
from domain.learner.lesson import Decision, Lesson, LessonEdit, Status
from domain.learner.log import Event
from domain.learner.sections import texts_to_embed
from tests.fakes.clock import START
from tests.fakes.examples import LESSON_ID, flag, lesson
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.system import Learner
from tests.fakes.together import together
from tests.fakes.unsteady import UnsteadyEmbedder


def command(of: Lesson, decision: Decision, **other: Any) -> ReviewCommand:
    return ReviewCommand(**{"lesson_id": of.id, "decision": decision, "actor": "a person", **other})


class Busy(FakeLessonStore):
    """Somebody else changes the lesson just before the first change gets there."""

    def __init__(self, **other: Any) -> None:
        super().__init__()
        self.attempts = 0
        self._other = other

    async def change(self, change: LessonChange) -> bool:
        self.attempts += 1
        if self.attempts == 1:
            current = await self.get(change.lesson.id)
            fields = {name: getattr(current, name) for name in current.__struct_fields__}
            other = lesson(**{**fields, **self._other})
            assert await super().change(LessonChange(lesson=other, expected=current, log=[]))
        return await super().change(change)


async def test_an_approved_lesson_is_promoted_and_matches_at_once() -> None:
    learner = Learner()
    before = await learner.injected(title="Retry uploads")
    learner.clock.advance(60)
    after = await learner.review(command(before, Decision.APPROVE))
    assert (after.status, after.version, after.review_round) == (Status.PROMOTED, 2, 1)
    assert await learner.store.get(before.id) == after
    copy = (await learner.store.copies([before.id]))[before.id]
    assert (copy.title, copy.version, copy.review_round, copy.promoted_at) == (
        "Retry uploads",
        2,
        1,
        learner.clock.now(),
    )
    (found,) = (await learner.search("retry", None, 10)).found
    assert found.copy == copy
    assert [path for path in learner.files.texts if "retry-uploads" in path]


async def test_the_log_says_who_decided_what_and_why() -> None:
    learner = Learner()
    before = await learner.injected()
    await learner.review(command(before, Decision.REJECT, actor="a key's name", reviewer="Zoë", note="A duplicate"))
    entry = (await learner.store.log(before.id))[-1]
    assert (entry.event, entry.at, entry.actor) == (Event.REJECTED, START, "a key's name")
    assert entry.detail == {"reviewer": "Zoë", "note": "A duplicate"}


async def test_what_was_not_said_is_not_in_the_log() -> None:
    learner = Learner()
    before = await learner.injected()
    await learner.review(command(before, Decision.APPROVE, note=""))
    assert (await learner.store.log(before.id))[-1].detail == {"note": ""}


async def test_an_edit_promotes_the_edited_lesson() -> None:
    learner = Learner()
    before = await learner.promoted(title="Retry uploads", tags=("a",))
    edit = LessonEdit(title="Wait and retry", dsl_payload={"action": "wait"})
    after = await learner.review(command(before, Decision.EDIT, edit=edit))
    assert (after.title, after.tags, after.version, after.review_round) == ("Wait and retry", ("a",), 3, 2)
    (found,) = (await learner.search("wait and", None, 10)).found
    assert found.copy.dsl_payload == {"action": "wait"}
    assert not [hit for hit in (await learner.search("retry uploads", None, 10)).found if hit.hit.text_match]


@pytest.mark.parametrize("decision", [Decision.REJECT, Decision.DISABLE])
async def test_what_is_rejected_or_disabled_no_longer_matches(decision: Decision) -> None:
    learner = Learner()
    before = await learner.promoted()
    await learner.decided(before, decision)
    assert await learner.store.copies([before.id]) == {}
    assert not (await learner.search("retry", None, 10)).found
    assert not (await learner.search.most_similar("retry", 10)).found
    assert learner.catalog.promotion(before.id) is None
    assert learner.files.texts == {}


async def test_a_disabled_lesson_may_be_restored() -> None:
    learner = Learner()
    before = await learner.decided(await learner.promoted(), Decision.DISABLE)
    after = await learner.decided(before, Decision.APPROVE)
    assert (after.status, after.review_round, after.version) == (Status.PROMOTED, 2, 4)
    assert (await learner.search("retry", None, 10)).found


@pytest.mark.parametrize("decision", Decision)
async def test_an_unknown_lesson_cannot_be_decided_on(decision: Decision) -> None:
    with pytest.raises(UnknownLesson):
        await Learner().review(command(lesson(), decision))


async def test_a_stale_version_changes_nothing() -> None:
    learner = Learner()
    before = await learner.injected()
    with pytest.raises(StaleVersion):
        await learner.review(command(before, Decision.APPROVE, version=2))
    assert await learner.store.get(before.id) == before
    assert len(await learner.store.log(before.id)) == 1
    assert (await learner.review(command(before, Decision.APPROVE, version=1))).status is Status.PROMOTED


async def test_a_decision_that_is_not_allowed_changes_nothing() -> None:
    learner = Learner()
    before = await learner.promoted()
    with pytest.raises(DecisionNotAllowed):
        await learner.review(command(before, Decision.APPROVE))
    assert await learner.store.get(before.id) == before
    assert len(await learner.store.log(before.id)) == 2


async def test_the_copys_embeddings_are_stored_with_the_decision() -> None:
    learner = Learner()
    before = await learner.injected(title="Retry", body="# One\n\nFirst.\n\n# Two\n\nSecond.")
    after = await learner.decided(before, Decision.APPROVE)
    delta = await learner.store.changes_since(0, learner.embedder.name, 10)
    (item,) = delta.promoted
    texts = texts_to_embed(after.title, after.body)
    assert item.vectors is not None
    assert (item.vectors.embedder, item.vectors.dimension) == (learner.embedder.name, learner.embedder.dimension)
    assert item.vectors.count == len(texts) == 3
    assert item.vectors.data == b"".join(await learner.embedder.embed(texts))
    assert learner.store.calls.get("put_vectors") is None


async def test_while_the_embedder_is_away_a_decision_is_carried_out_all_the_same() -> None:
    learner = Learner()
    learner.embedder.away = True
    after = await learner.promoted()
    assert after.status is Status.PROMOTED
    result = await learner.search("retry", None, 10)
    assert [found.copy.id for found in result.found] == [after.id]
    assert result.degraded


async def test_a_decision_that_somebody_else_came_before_is_decided_anew() -> None:
    store = Busy(title="Another title", updated_at=START)
    learner = Learner(store=store)
    before = await learner.injected()
    after = await learner.review(command(before, Decision.APPROVE))
    assert (store.attempts, after.title, after.version) == (2, "Another title", 2)
    assert (await learner.store.copies([before.id]))[before.id].title == "Another title"


async def test_a_decision_that_is_no_longer_allowed_when_decided_anew_is_refused() -> None:
    learner = Learner(store=Busy(status=Status.PROMOTED, version=2))
    before = await learner.injected()
    with pytest.raises(DecisionNotAllowed):
        await learner.review(command(before, Decision.APPROVE))


async def test_a_version_that_is_no_longer_current_when_decided_anew_is_stale() -> None:
    learner = Learner(store=Busy(version=2))
    before = await learner.injected()
    with pytest.raises(StaleVersion):
        await learner.review(command(before, Decision.APPROVE, version=1))


async def test_of_people_who_approve_at_the_same_time_one_does() -> None:
    learner = Learner()
    before = await learner.injected()
    results = await together(*(learner.review(command(before, Decision.APPROVE)) for _ in range(5)))
    assert sum(isinstance(result, Lesson) for result in results) == 1
    assert sum(isinstance(result, DecisionNotAllowed) for result in results) == 4
    assert [entry.event for entry in await learner.store.log(before.id)] == [Event.INJECTED, Event.APPROVED]


async def test_people_who_edit_at_the_same_time_all_do_one_after_the_other() -> None:
    learner = Learner()
    before = await learner.injected()
    edits = [command(before, Decision.EDIT, edit=LessonEdit(title=f"Title {n}")) for n in range(5)]
    results = await together(*map(learner.review, edits))
    assert sorted(result.version for result in results if isinstance(result, Lesson)) == [2, 3, 4, 5, 6]
    now = await learner.store.get(before.id)
    assert (now.version, now.review_round) == (6, 5)
    assert (await learner.store.copies([before.id]))[before.id].title == now.title


async def test_a_decision_and_an_escalation_at_the_same_time_both_find_their_place() -> None:
    learner = Learner()
    before = await learner.promoted()
    await together(
        learner.review(command(before, Decision.REJECT)),
        learner.escalate.flag(before.id, 1, "00000000-0000-7000-8000-00000000e5ca", flag()),
    )
    now = await learner.store.get(before.id)
    assert (now.status, await learner.store.copies([before.id])) == (Status.REJECTED, {})


async def test_an_erased_lesson_is_gone_from_everywhere() -> None:
    learner = Learner()
    before = await learner.promoted()
    await learner.erase(before.id, actor="an admin")
    with pytest.raises(UnknownLesson):
        await learner.store.get(before.id)
    assert not (await learner.search("retry", None, 10)).found
    assert learner.files.texts == {}
    assert not (await learner.store.page(LessonFilter(), 10, None)).lessons


async def test_an_unknown_lesson_cannot_be_erased() -> None:
    with pytest.raises(UnknownLesson):
        await Learner().erase(LESSON_ID, actor="an admin")


@pytest.mark.parametrize("decision", [Decision.APPROVE, Decision.EDIT, Decision.REJECT, Decision.DISABLE])
async def test_a_decision_that_is_stored_is_answered_also_where_matching_cannot_follow(decision: Decision) -> None:
    learner = Learner()
    before = await learner.injected(title="Retry uploads")
    if decision is not Decision.APPROVE:
        before = await learner.decided(before, Decision.APPROVE)
    assert len((await learner.search("retry", None, 10)).found) == (decision is not Decision.APPROVE)
    learner.store.fails = {"changes_since"}
    after = await learner.decided(before, decision)
    assert await learner.store.get(before.id) == after
    learner.store.fails = set()
    found = (await learner.search("retry", None, 10)).found
    assert len(found) == len(learner.catalog) == (after.status is Status.PROMOTED)
    assert learner.catalog.revision == await learner.store.revision()


async def test_a_decision_that_is_stored_is_answered_also_with_another_embedder_than_before() -> None:
    first = Learner()
    await first.promoted()
    before = await first.injected()
    second = Learner(store=first.store, embedder=UnsteadyEmbedder("another-v2"))
    assert (await second.decided(before, Decision.REJECT)).status is Status.REJECTED


async def test_an_erasure_is_answered_also_where_matching_cannot_follow() -> None:
    learner = Learner()
    before = await learner.promoted()
    learner.store.fails = {"changes_since"}
    await learner.erase(before.id, actor="an admin")
    learner.store.fails = set()
    await learner.catalog.refresh()
    assert len(learner.catalog) == 0


async def test_a_store_that_is_away_is_told_to_the_person() -> None:
    learner = Learner()
    before = await learner.injected()
    learner.store.away = True
    with pytest.raises(StoreUnavailable):
        await learner.review(command(before, Decision.APPROVE))
    learner.store.away = False
    assert await learner.store.get(before.id) == before
