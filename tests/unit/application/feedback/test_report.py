"""Reporting an outcome, and what a report may never suffer from."""

from __future__ import annotations

import anyio
import pytest

from application.feedback.ports import EntryFilter
from domain.errors import DeliveryFailed, KeyReused, NoSelection, StoreUnavailable
from domain.feedback.entry import FailureClass, ResultFlag
from domain.feedback.escalation import Path, PathMode, State
from tests.fakes.clock import START
from tests.fakes.examples import report, request
from tests.fakes.fake_target import HANGS, Line, ScriptedTarget
from tests.fakes.system import Feedback
from tests.fakes.together import all_of
from tests.fakes.virtual_time import LoopClock


def in_process(*script: Line) -> ScriptedTarget:
    return ScriptedTarget(*script, in_process=True)


async def test_a_report_updates_the_latest_selection_of_its_step_and_session() -> None:
    of = Feedback(threshold=3)
    await of.selected(problem_solving_step_ref="step-17")
    latest = await of.selected(problem_solving_step_ref="step-17")
    of.clock.advance(60)
    entry = await of.report(report(ResultFlag.SUCCESS, detail={"why": "it worked"}))
    assert entry.id == latest.id
    assert (entry.result_flag, entry.usage_count, entry.detail) == (ResultFlag.SUCCESS, 2, {"why": "it worked"})
    assert entry.updated_at == of.clock.now()
    assert await of.store.get(latest.id) == entry


async def test_a_report_may_name_its_selection() -> None:
    of = Feedback(threshold=3)
    first = await of.selected(problem_solving_step_ref="step-17")
    await of.selected(problem_solving_step_ref="step-17")
    entry = await of.report(report(outcome_id=first.transaction_log_ref))
    assert entry.id == first.id


async def test_a_report_of_what_was_never_selected_is_an_error() -> None:
    of = Feedback()
    with pytest.raises(NoSelection):
        await of.report(report())
    with pytest.raises(NoSelection):
        await of.update(report())


async def test_failures_below_the_threshold_escalate_nothing() -> None:
    of = Feedback(threshold=3)
    seen = [(await of.failed()).failures_seen for _ in range(2)]
    assert seen == [1, 2]
    assert await of.escalations() == []


async def test_from_the_threshold_on_every_failure_escalates() -> None:
    of = Feedback(threshold=3, mode=PathMode.HUMAN_ONLY)
    for _ in range(5):
        await of.failed()
    assert [one.failure_count for one in await of.escalations()] == [3, 4, 5]
    assert {one.path for one in await of.escalations()} == {Path.HUMAN}


async def test_a_failure_of_the_infrastructure_does_not_count() -> None:
    of = Feedback(threshold=1)
    one = await of.selected()
    entry = await of.report(
        report(problem_solving_step_ref=one.problem_solving_step_ref, failure_class=FailureClass.INFRASTRUCTURE)
    )
    assert (entry.result_flag, entry.failures_seen) == (ResultFlag.FAILURE, 0)
    assert await of.escalations() == []


async def test_reports_side_by_side_cross_the_threshold_once_each() -> None:
    of = Feedback(threshold=10, mode=PathMode.AUTO_ONLY)
    entries = [await of.selected() for _ in range(40)]
    told = await all_of(*(of.failed(one) for one in entries))
    assert sorted(one.failures_seen or 0 for one in told) == list(range(1, 41))
    assert sorted(one.failure_count for one in await of.escalations()) == list(range(10, 41))


async def test_in_process_effects_are_there_when_the_report_is_answered() -> None:
    human, auto = in_process(), in_process(State.SUPERSEDED)
    of = Feedback(human=human, auto=auto)
    await of.failed()
    assert [one.path for one in human.delivered] == [Path.HUMAN]
    assert [one.path for one in auto.delivered] == [Path.AUTO]
    assert [(one.path, one.state, one.attempts) for one in await of.escalations()] == [
        (Path.HUMAN, State.DELIVERED, 1),
        (Path.AUTO, State.SUPERSEDED, 1),
    ]
    assert [one.delivered_at for one in await of.escalations()] == [START, None]


async def test_other_targets_are_left_to_the_dispatcher() -> None:
    human, auto = ScriptedTarget(), in_process()
    of = Feedback(human=human, auto=auto)
    await of.failed()
    assert human.delivered == []
    assert [one.state for one in await of.escalations()] == [State.PENDING, State.DELIVERED]
    assert len(await of.outbox.claim(Path.HUMAN, "the dispatcher", START, START, 10)) == 1


async def test_a_hanging_in_process_effect_holds_a_report_up_for_two_seconds_at_most() -> None:
    clock = LoopClock()
    of = Feedback(human=in_process(HANGS), auto=in_process(), clock=clock)
    entry = await of.failed()
    assert clock.elapsed == pytest.approx(2.0, abs=0.01)
    assert entry.failures_seen == 1
    assert [one.state for one in await of.escalations()] == [State.PENDING, State.DELIVERED]


async def test_what_took_too_long_is_finished_by_the_dispatcher() -> None:
    clock = LoopClock()
    human = in_process(HANGS, State.DELIVERED)
    of = Feedback(human=human, mode=PathMode.HUMAN_ONLY, clock=clock)
    async with anyio.create_task_group() as group:
        group.start_soon(of.dispatcher.run)
        await of.failed()
        await anyio.sleep(20)
        group.cancel_scope.cancel()
    (one,) = await of.escalations()
    assert one.state is State.DELIVERED
    assert one.delivered_at is not None
    assert 15 <= (one.delivered_at - START).total_seconds() <= 17


async def test_a_hanging_target_outside_does_not_slow_a_report_down() -> None:
    clock = LoopClock()
    of = Feedback(human=ScriptedTarget(HANGS), auto=ScriptedTarget(HANGS), clock=clock)
    async with anyio.create_task_group() as group:
        group.start_soon(of.dispatcher.run)
        for _ in range(20):
            await of.failed()
        assert clock.elapsed < 0.1
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    "fault", [DeliveryFailed("down"), StoreUnavailable("away"), ValueError("a bug"), TimeoutError()]
)
async def test_no_target_makes_a_report_fail(fault: Exception) -> None:
    of = Feedback(human=in_process(fault), auto=in_process())
    entry = await of.failed()
    assert entry.failures_seen == 1
    human, auto = await of.escalations()
    assert (human.state, human.attempts, auto.state) == (State.PENDING, 1, State.DELIVERED)
    assert human.last_error


async def test_an_outbox_that_is_away_after_the_report_makes_no_report_fail() -> None:
    of = Feedback(human=in_process(), auto=in_process())
    of.outbox.away = True
    assert (await of.failed()).failures_seen == 1
    of.outbox.away = False
    assert [one.state for one in await of.escalations()] == [State.PENDING, State.PENDING]


async def test_a_store_that_is_away_is_told() -> None:
    of = Feedback()
    one = await of.selected()
    of.store.away = True
    with pytest.raises(StoreUnavailable):
        await of.failed(one)
    of.store.away = False
    assert (await of.store.get(one.id)).usage_count == 1


async def test_a_repeated_report_has_one_effect_and_escalates_once() -> None:
    human = in_process()
    of = Feedback(human=human, mode=PathMode.HUMAN_ONLY)
    one = await of.selected()
    said = report(problem_solving_step_ref=one.problem_solving_step_ref)
    first = await of.report(said, request())
    assert await of.report(said, request()) == first
    assert len(human.delivered) == 1
    assert (await of.store.get(one.id)).usage_count == 2
    with pytest.raises(KeyReused):
        await of.report(said, request(fingerprint="f2"))


async def test_without_a_key_every_report_counts() -> None:
    of = Feedback(mode=PathMode.HUMAN_ONLY)
    one = await of.selected()
    for _ in range(3):
        await of.failed(one)
    assert (await of.store.get(one.id)).usage_count == 4
    assert [due.report_number for due in await of.escalations()] == [1, 2, 3]


async def test_updating_feedback_records_and_nothing_else() -> None:
    human = in_process()
    of = Feedback(human=human, auto=in_process())
    one = await of.selected()
    entry = await of.update(report(problem_solving_step_ref=one.problem_solving_step_ref))
    assert (entry.result_flag, entry.failures_seen, entry.report_number) == (ResultFlag.FAILURE, 1, 1)
    assert (await of.escalations(), human.delivered) == ([], [])
    assert len((await of.store.page(EntryFilter(), 10, None)).entries) == 1
