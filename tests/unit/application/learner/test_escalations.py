"""What an escalation does to its lesson."""

from __future__ import annotations

import pytest

from application.learner.ports import LessonChange
from domain.errors import StoreUnavailable
from domain.learner.lesson import Decision, Lesson, Status
from domain.learner.log import Event
from tests.fakes.clock import CountingIds
from tests.fakes.examples import ESCALATION_ID, LESSON_ID, flag
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.system import Learner
from tests.fakes.together import all_of

WHY = flag()
OTHER_ID = CountingIds(9)()


class Refusing(FakeLessonStore):
    """Refuses so many changes, as if somebody else had been faster each time."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def change(self, change: LessonChange) -> bool:
        if change.escalation_id is not None and self.times:
            self.times -= 1
            return False
        return await super().change(change)


async def status(learner: Learner, of: Lesson) -> tuple[Status, bool]:
    """The lesson's status, and whether its copy still matches."""
    matches = [found.copy.id for found in (await learner.search("retry", None, 10)).found]
    return (await learner.store.get(of.id)).status, of.id in matches


async def test_a_flagged_lesson_is_back_in_review_and_still_matches() -> None:
    learner = Learner()
    before = await learner.promoted()
    learner.clock.advance(60)
    assert await learner.escalate.flag(before.id, 1, ESCALATION_ID, WHY)
    assert await status(learner, before) == (Status.PENDING_REVIEW, True)
    ((queued, why),) = (await learner.store.queue()).waiting
    assert (queued.id, queued.version, queued.review_round) == (before.id, before.version, before.review_round)
    assert (why.reason, why.flag) == (WHY.reason, WHY)
    entry = (await learner.store.log(before.id))[-1]
    assert (entry.event, entry.at, entry.detail) == (
        Event.RUNTIME_FAILURE_FLAGGED,
        learner.clock.now(),
        WHY.as_detail(),
    )


async def test_a_lesson_that_was_disabled_at_run_time_matches_nothing_any_more() -> None:
    learner = Learner()
    before = await learner.promoted()
    assert await learner.escalate.disable(before.id, 1, ESCALATION_ID, WHY)
    assert await status(learner, before) == (Status.DISABLED, False)
    assert (await learner.store.log(before.id))[-1].event is Event.RUNTIME_FAILURE_DISABLED
    assert not (await learner.store.queue()).waiting


@pytest.mark.parametrize("first", ["flag", "disable"])
async def test_both_paths_end_in_review_with_the_copy_deleted_whichever_comes_first(first: str) -> None:
    learner = Learner()
    before = await learner.promoted()
    both = [learner.escalate.flag, learner.escalate.disable]
    for effect, of in zip(both if first == "flag" else both[::-1], (ESCALATION_ID, OTHER_ID), strict=True):
        assert await effect(before.id, 1, of, WHY)
    assert await status(learner, before) == (Status.PENDING_REVIEW, False)
    assert [why.reason for _, why in (await learner.store.queue()).waiting] == [WHY.reason]


async def test_both_paths_side_by_side_end_there_too() -> None:
    learner = Learner()
    before = await learner.promoted()
    done = await all_of(
        learner.escalate.flag(before.id, 1, ESCALATION_ID, WHY),
        learner.escalate.disable(before.id, 1, OTHER_ID, WHY),
    )
    assert done == [True, True]
    assert await status(learner, before) == (Status.PENDING_REVIEW, False)


async def test_a_further_failure_is_noted_in_the_log_and_in_the_queue() -> None:
    learner = Learner()
    before = await learner.promoted()
    await learner.escalate.flag(before.id, 1, ESCALATION_ID, WHY)
    waiting = await learner.store.get(before.id)
    learner.clock.advance(60)
    last = flag(reason="4 failed outcomes", failure_count=4)
    assert await learner.escalate.flag(before.id, 1, OTHER_ID, last)
    assert await learner.store.get(before.id) == waiting
    assert len(await learner.store.log(before.id)) == 4
    assert [why.flag for _, why in (await learner.store.queue()).waiting] == [last]


@pytest.mark.parametrize("path", ["flag", "disable"])
async def test_an_escalation_has_one_effect_however_often_it_is_delivered(path: str) -> None:
    learner = Learner()
    before = await learner.promoted()
    effect = getattr(learner.escalate, path)
    assert [await effect(before.id, 1, ESCALATION_ID, WHY) for _ in range(3)] == [True, True, True]
    assert len(await learner.store.log(before.id)) == 3
    await learner.decided(await learner.store.get(before.id), Decision.EDIT)
    assert await effect(before.id, 1, ESCALATION_ID, WHY)
    assert (await learner.store.get(before.id)).status is Status.PROMOTED


@pytest.mark.parametrize("path", ["flag", "disable"])
async def test_one_escalation_delivered_side_by_side_has_one_effect(path: str) -> None:
    learner = Learner()
    before = await learner.promoted()
    effect = getattr(learner.escalate, path)
    assert await all_of(*(effect(before.id, 1, ESCALATION_ID, WHY) for _ in range(4))) == [True] * 4
    assert len(await learner.store.log(before.id)) == 3


@pytest.mark.parametrize("path", ["flag", "disable"])
@pytest.mark.parametrize("decision", [Decision.EDIT, Decision.REJECT, Decision.DISABLE])
async def test_an_escalation_after_a_persons_decision_is_superseded(path: str, decision: Decision) -> None:
    learner = Learner()
    before = await learner.promoted()
    after = await learner.decided(before, decision)
    assert not await getattr(learner.escalate, path)(before.id, 1, ESCALATION_ID, WHY)
    assert await learner.store.get(before.id) == after
    assert len(await learner.store.log(before.id)) == 3


@pytest.mark.parametrize("path", ["flag", "disable"])
async def test_an_escalation_of_a_lesson_that_is_gone_is_superseded(path: str) -> None:
    learner = Learner()
    assert not await getattr(learner.escalate, path)(LESSON_ID, 1, ESCALATION_ID, WHY)


@pytest.mark.parametrize("path", ["flag", "disable"])
async def test_an_effect_that_somebody_else_came_before_is_decided_anew(path: str) -> None:
    store = Refusing(times=2)
    learner = Learner(store=store)
    before = await learner.promoted()
    assert await getattr(learner.escalate, path)(before.id, 1, ESCALATION_ID, WHY)
    assert store.times == 0
    assert len(await learner.store.log(before.id)) == 3


async def test_an_effect_that_is_stored_is_answered_also_where_matching_cannot_follow() -> None:
    learner = Learner()
    before = await learner.promoted()
    learner.store.fails = {"changes_since"}
    assert await learner.escalate.disable(before.id, 1, ESCALATION_ID, WHY)
    learner.store.fails = set()
    assert await status(learner, before) == (Status.DISABLED, False)
    assert len(learner.catalog) == 0


async def test_a_store_that_is_away_is_told_so_that_the_delivery_is_repeated() -> None:
    learner = Learner()
    before = await learner.promoted()
    learner.store.away = True
    with pytest.raises(StoreUnavailable):
        await learner.escalate.flag(before.id, 1, ESCALATION_ID, WHY)
    learner.store.away = False
    assert await learner.escalate.flag(before.id, 1, ESCALATION_ID, WHY)
