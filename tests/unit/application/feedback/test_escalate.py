"""Checking one entry by hand: what is due is attempted once, and once only."""

from __future__ import annotations

import anyio
import pytest

from domain.errors import DeliveryFailed, StoreUnavailable
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.feedback.escalation import Path, PathMode, State
from domain.feedback.metrics import Counters
from tests.fakes.clock import START
from tests.fakes.examples import report
from tests.fakes.fake_target import HANGS, ScriptedTarget
from tests.fakes.system import Feedback
from tests.fakes.together import all_of
from tests.fakes.virtual_time import LoopClock


async def updated(
    of: Feedback, flag: ResultFlag = ResultFlag.FAILURE, one: FeedbackEntry | None = None
) -> FeedbackEntry:
    one = one or await of.selected()
    return await of.update(report(flag, problem_solving_step_ref=one.problem_solving_step_ref))


async def test_what_is_due_is_attempted_before_it_returns_whatever_the_target() -> None:
    human, auto = ScriptedTarget(), ScriptedTarget(in_process=True)
    of = Feedback(human=human, auto=auto)
    entry = await updated(of)
    done = await of.escalate.check(entry)
    assert [(one.path, one.state, one.attempts) for one in done] == [
        (Path.HUMAN, State.DELIVERED, 1),
        (Path.AUTO, State.DELIVERED, 1),
    ]
    assert await of.escalations() == list(done)
    assert (done[0].entry_id, done[0].report_number, done[0].failure_count) == (entry.id, 1, 1)
    assert done[0].counters == Counters(usage_count=2, failure=1, lesson_failures=1)


async def test_a_second_check_of_the_same_report_does_nothing() -> None:
    human = ScriptedTarget()
    of = Feedback(human=human, mode=PathMode.HUMAN_ONLY)
    entry = await updated(of)
    await of.escalate.check(entry)
    assert list(await of.escalate.check(entry)) == []
    assert list(await of.escalate.check(await of.store.get(entry.id))) == []
    assert len(human.delivered) == 1


async def test_checks_of_one_report_side_by_side_escalate_once() -> None:
    human = ScriptedTarget()
    of = Feedback(human=human, mode=PathMode.HUMAN_ONLY)
    entry = await updated(of)
    done = await all_of(*(of.escalate.check(entry) for _ in range(5)))
    assert sum(len(each) for each in done) == 1
    assert len(human.delivered) == 1


async def test_what_the_report_escalated_already_is_not_escalated_by_a_check() -> None:
    human = ScriptedTarget(in_process=True)
    of = Feedback(human=human, mode=PathMode.HUMAN_ONLY)
    entry = await of.failed()
    assert list(await of.escalate.check(entry)) == []
    assert len(human.delivered) == 1


async def test_a_further_report_of_the_same_entry_is_due_anew() -> None:
    human = ScriptedTarget()
    of = Feedback(human=human, mode=PathMode.HUMAN_ONLY)
    one = await of.selected()
    for _ in range(2):
        await of.escalate.check(await updated(of, one=one))
    assert [each.report_number for each in human.delivered] == [1, 2]


async def test_nothing_is_due_below_the_threshold_or_after_a_success() -> None:
    of = Feedback(threshold=2)
    assert list(await of.escalate.check(await updated(of))) == []
    assert list(await of.escalate.check(await updated(of, ResultFlag.SUCCESS))) == []
    assert list(await of.escalate.check(await of.selected())) == []
    assert await of.escalations() == []


async def test_a_target_that_does_not_take_it_is_attempted_once_and_left_to_the_dispatcher() -> None:
    human = ScriptedTarget(DeliveryFailed("503"))
    of = Feedback(human=human, mode=PathMode.HUMAN_ONLY)
    (done,) = await of.escalate.check(await updated(of))
    assert (done.state, done.attempts, done.last_error) == (State.PENDING, 1, "503")
    assert done.next_attempt_at > START
    assert len(human.delivered) == 1
    assert len(await of.outbox.claim(Path.HUMAN, "the dispatcher", done.next_attempt_at, START, 10)) == 1


async def test_a_hanging_target_holds_up_no_other() -> None:
    clock = LoopClock()
    auto = ScriptedTarget(in_process=True)
    of = Feedback(human=ScriptedTarget(HANGS), auto=auto, clock=clock)
    entry = await updated(of)
    async with anyio.create_task_group() as group:
        group.start_soon(of.escalate.check, entry)
        await anyio.sleep(0.1)
        assert len(auto.delivered) == 1
    assert clock.elapsed == pytest.approx(10.0, abs=0.01)
    human, disabled = await of.escalations()
    assert (human.state, human.last_error, disabled.state) == (State.PENDING, "no answer within 10 s", State.DELIVERED)


async def test_a_store_that_is_away_is_told() -> None:
    of = Feedback()
    entry = await updated(of)
    of.store.away = True
    with pytest.raises(StoreUnavailable):
        await of.escalate.check(entry)
    of.store.away = False
    of.outbox.away = True
    with pytest.raises(StoreUnavailable):
        await of.escalate.check(entry)
    of.outbox.away = False
    assert len(await of.escalate.check(entry)) == 2


async def test_a_result_that_cannot_be_stored_is_delivered_again_later() -> None:
    human = ScriptedTarget()
    of = Feedback(human=human, mode=PathMode.HUMAN_ONLY)
    entry = await updated(of)
    of.outbox.fails = {"settle"}
    assert list(await of.escalate.check(entry)) == []
    assert len(human.delivered) == 1
    assert [one.state for one in await of.escalations()] == [State.PENDING]
