"""One attempt, and the dispatcher's rounds: nothing is lost, nobody waits for anybody else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import anyio
import pytest

from application.feedback.deliver import ATTEMPT_S, LEASE_S
from domain.errors import DeliveryFailed, StoreUnavailable
from domain.feedback.escalation import Escalation, Path, PathMode, State
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import escalation
from tests.fakes.fake_outbox import FakeOutbox
from tests.fakes.fake_target import HANGS, Line, ScriptedTarget
from tests.fakes.system import Feedback
from tests.fakes.virtual_time import LoopClock

DOWN = DeliveryFailed("503 Service Unavailable")


def rows(count: int, path: Path = Path.HUMAN) -> list[Escalation]:
    new_id, new_entry = CountingIds(1 + (path is Path.AUTO)), CountingIds(3 + (path is Path.AUTO))
    return [escalation(id=new_id(), entry_id=new_entry(), path=path) for _ in range(count)]


async def claimed(of: Feedback) -> Escalation:
    """One row, taken by this process."""
    (row,) = await of.outbox.put(rows(1), "this process", START + timedelta(seconds=LEASE_S))
    return row


async def run(of: Feedback, seconds: float) -> None:
    """Lets the dispatcher work for so long."""
    with anyio.move_on_after(seconds):
        await of.dispatcher.run()


def at(of: Sequence[Escalation]) -> list[float]:
    """When each was delivered, in seconds from the start."""
    return [(one.delivered_at - START).total_seconds() for one in of if one.delivered_at is not None]


@pytest.mark.parametrize("state", [State.DELIVERED, State.SUPERSEDED])
async def test_a_taken_delivery_is_done(state: State) -> None:
    of = Feedback(human=ScriptedTarget(state))
    row = await claimed(of)
    of.clock.advance(1)
    after = await of.deliver(row)
    assert (after.state, after.attempts, after.last_error) == (state, 1, None)
    assert after.delivered_at == (of.clock.now() if state is State.DELIVERED else None)
    assert await of.outbox.get(row.id) == after


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (DOWN, "503 Service Unavailable"),
        (StoreUnavailable("the object store does not answer"), "the object store does not answer"),
        (TimeoutError(), "no answer within 10 s"),
        (ValueError("secret"), "unexpected fault (ValueError)"),
    ],
)
async def test_a_delivery_that_was_not_taken_waits_for_its_next_attempt(fault: Exception, said: str) -> None:
    of = Feedback(human=ScriptedTarget(fault))
    row = await claimed(of)
    after = await of.deliver(row)
    assert (after.state, after.attempts, after.last_error, after.delivered_at) == (State.PENDING, 1, said, None)
    assert 0.75 <= (after.next_attempt_at - of.clock.now()).total_seconds() <= 1.25
    assert await of.outbox.get(row.id) == after


async def test_an_attempt_ends_well_before_its_lease() -> None:
    clock = LoopClock()
    of = Feedback(human=ScriptedTarget(HANGS), clock=clock)
    after = await of.deliver(await claimed(of))
    assert clock.elapsed == pytest.approx(ATTEMPT_S, abs=0.01)
    assert ATTEMPT_S < LEASE_S
    assert after.last_error == "no answer within 10 s"


async def test_after_the_last_attempt_it_has_failed_for_good() -> None:
    of = Feedback(human=ScriptedTarget(DOWN), max_attempts=3)
    row = await claimed(of)
    states = []
    for _ in range(3):
        await of.outbox.claim(Path.HUMAN, "this process", of.clock.advance(1000), of.clock.now(), 1)
        row = await of.deliver(row)
        states.append((row.state, row.attempts))
    assert states == [(State.PENDING, 1), (State.PENDING, 2), (State.FAILED, 3)]
    assert row.last_error == DOWN.detail
    assert await of.outbox.get(row.id) == row


async def test_a_result_of_a_lease_that_was_lost_does_not_count_and_what_is_stored_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    of = Feedback(human=ScriptedTarget(DOWN), max_attempts=1)
    row = await claimed(of)
    late = START + timedelta(seconds=LEASE_S)
    await of.outbox.claim(Path.HUMAN, "another process", late, late + timedelta(seconds=LEASE_S), 1)
    assert await of.deliver(row) == row
    assert await of.outbox.get(row.id) == row
    assert "failed for good" not in caplog.text


async def test_what_failed_for_good_is_logged_once_it_is_stored(caplog: pytest.LogCaptureFixture) -> None:
    of = Feedback(human=ScriptedTarget(DOWN), max_attempts=1)
    row = await claimed(of)
    of.outbox.fails = {"settle"}
    with pytest.raises(StoreUnavailable):
        await of.deliver(row)
    assert "failed for good" not in caplog.text
    of.outbox.fails = set()
    assert (await of.deliver(row)).state is State.FAILED
    assert "failed for good after 1 attempts: 503 Service Unavailable" in caplog.text


async def test_a_result_that_cannot_be_stored_is_told() -> None:
    of = Feedback()
    row = await claimed(of)
    of.outbox.away = True
    with pytest.raises(StoreUnavailable):
        await of.deliver(row)


async def test_the_dispatcher_delivers_at_once_when_it_is_woken() -> None:
    clock = LoopClock()
    of = Feedback(clock=clock, poll_s=60)
    async with anyio.create_task_group() as group:
        group.start_soon(of.dispatcher.run)
        await anyio.sleep(5)
        await of.failed()
        await anyio.sleep(0.01)
        assert [one.state for one in await of.escalations()] == [State.DELIVERED, State.DELIVERED]
        assert at(await of.escalations()) == pytest.approx([5.0, 5.0], abs=0.01)
        group.cancel_scope.cancel()


async def test_the_dispatcher_finds_by_itself_what_nobody_woke_it_for() -> None:
    of = Feedback(clock=LoopClock())
    await of.outbox.put(rows(3), "nobody", START)
    of.dispatcher.wake()
    await run(of, 0.1)
    assert at(await of.escalations()) == pytest.approx([0.0] * 3, abs=0.05)


async def test_what_a_dead_process_had_taken_is_delivered_when_its_lease_ends() -> None:
    of = Feedback(clock=LoopClock())
    await of.outbox.put(rows(1), "a dead process", START + timedelta(seconds=LEASE_S))
    await run(of, 14.5)
    assert [one.state for one in await of.escalations()] == [State.PENDING]
    await run(of, 2)
    assert at(await of.escalations()) == pytest.approx([15.5], abs=0.6)


async def test_a_target_that_is_down_is_tried_again_at_growing_intervals_until_it_is_back() -> None:
    human = ScriptedTarget(*([DOWN] * 6), State.DELIVERED)
    clock = LoopClock()
    tried: list[float] = []

    class Timed(ScriptedTarget):
        async def deliver(self, escalation: Escalation) -> State:
            tried.append(clock.elapsed)
            return await human.deliver(escalation)

    of = Feedback(human=Timed(), clock=clock, poll_s=0.2)
    await of.outbox.put(rows(1), "nobody", START)
    await run(of, 100)
    waits = [later - earlier for earlier, later in pairwise(tried)]
    assert len(waits) == 6
    for n, wait in enumerate(waits):
        assert 0.75 * 2**n <= wait <= 1.25 * 2**n + 0.21
    (one,) = await of.escalations()
    assert (one.state, one.attempts) == (State.DELIVERED, 7)


async def test_a_target_that_never_comes_back_is_given_up_after_the_last_attempt() -> None:
    human = ScriptedTarget(DOWN)
    of = Feedback(human=human, clock=LoopClock(), poll_s=30)
    await of.outbox.put(rows(1), "nobody", START)
    await run(of, 4 * 3600)
    (one,) = await of.escalations()
    assert (one.state, one.attempts, len(human.delivered)) == (State.FAILED, 12, 12)


async def test_a_failed_one_that_is_retried_is_delivered_at_once() -> None:
    human = ScriptedTarget(DOWN)
    clock = LoopClock()
    of = Feedback(human=human, clock=clock, max_attempts=1, poll_s=60)
    await of.outbox.put(rows(1), "nobody", START)
    async with anyio.create_task_group() as group:
        group.start_soon(of.dispatcher.run)
        await anyio.sleep(1)
        (one,) = await of.escalations()
        assert one.state is State.FAILED
        human.will(State.DELIVERED)
        await of.outbox.retry(one.id, clock.now())
        of.dispatcher.wake()
        await anyio.sleep(0.1)
        assert [(each.state, each.attempts) for each in await of.escalations()] == [(State.DELIVERED, 1)]
        group.cancel_scope.cancel()


async def test_a_retry_while_the_last_attempt_hangs_is_delivered_when_that_has_ended() -> None:
    human = ScriptedTarget(HANGS, State.DELIVERED)
    clock = LoopClock()
    of = Feedback(human=human, clock=clock, max_attempts=1, poll_s=60)
    await of.outbox.put(rows(1), "nobody", START)
    async with anyio.create_task_group() as group:
        group.start_soon(of.dispatcher.run)
        await anyio.sleep(5)
        await of.outbox.retry(rows(1)[0].id, clock.now())
        of.dispatcher.wake()
        await anyio.sleep(1)
        assert len(human.delivered) == 1
        await anyio.sleep(ATTEMPT_S)
        assert [(one.state, one.attempts) for one in await of.escalations()] == [(State.DELIVERED, 1)]
        assert at(await of.escalations()) == pytest.approx([ATTEMPT_S], abs=0.01)
        group.cancel_scope.cancel()


async def test_a_hanging_target_delays_no_other() -> None:
    of = Feedback(human=ScriptedTarget(HANGS), clock=LoopClock())
    await of.outbox.put([*rows(50), *rows(50, Path.AUTO)], "nobody", START)
    await run(of, 1)
    states = [(one.path, one.state) for one in await of.escalations()]
    assert states.count((Path.AUTO, State.DELIVERED)) == 50
    assert states.count((Path.HUMAN, State.PENDING)) == 50


async def test_one_slow_answer_does_not_hold_up_the_others_of_its_target() -> None:
    human = ScriptedTarget(HANGS, State.DELIVERED)
    of = Feedback(human=human, clock=LoopClock())
    await of.outbox.put(rows(30), "nobody", START)
    await run(of, 1)
    states = [one.state for one in await of.escalations()]
    assert (states.count(State.DELIVERED), states.count(State.PENDING)) == (29, 1)


async def test_a_backlog_is_delivered_without_waiting_for_the_next_poll() -> None:
    of = Feedback(clock=LoopClock(), poll_s=60)
    await of.outbox.put(rows(200), "nobody", START)
    await run(of, 1)
    assert {one.state for one in await of.escalations()} == {State.DELIVERED}


async def test_no_more_deliveries_are_under_way_than_can_keep_their_lease() -> None:
    human = ScriptedTarget(HANGS)
    of = Feedback(human=human, clock=LoopClock())
    await of.outbox.put(rows(100), "nobody", START)
    await run(of, ATTEMPT_S - 0.1)
    assert 1 < len(human.delivered) <= 16


async def test_dispatchers_of_several_processes_share_the_rows_out() -> None:
    clock, outbox = LoopClock(), FakeOutbox()
    targets = [ScriptedTarget(), ScriptedTarget()]
    processes = [
        Feedback(human=target, clock=clock, outbox=outbox, owner=f"process {n}") for n, target in enumerate(targets)
    ]
    await outbox.put(rows(100), "nobody", START)
    async with anyio.create_task_group() as group:
        for process in processes:
            group.start_soon(run, process, 5)
    delivered = [one.id for target in targets for one in target.delivered]
    assert sorted(delivered) == sorted(row.id for row in rows(100))
    assert all(target.delivered for target in targets)


async def test_an_outbox_that_is_away_is_asked_again() -> None:
    of = Feedback(clock=LoopClock())
    await of.outbox.put(rows(3), "nobody", START)
    of.outbox.away = True
    async with anyio.create_task_group() as group:
        group.start_soon(run, of, 10)
        await anyio.sleep(5)
        of.outbox.away = False
    assert [one.state for one in await of.escalations()] == [State.DELIVERED] * 3
    assert of.outbox.calls["claim"] < 40


class FaultyOutbox(FakeOutbox):
    """Has a fault of its own, so many times, in the calls of these names."""

    def __init__(self, **faults: int) -> None:
        super().__init__()
        self._faults = faults

    def _fault(self, call: str) -> None:
        if self._faults.get(call, 0):
            self._faults[call] -= 1
            raise ValueError("a bug")

    async def claim(self, path: Path, owner: str, now: datetime, until: datetime, limit: int) -> Sequence[Escalation]:
        self._fault("claim")
        return await super().claim(path, owner, now, until, limit)

    async def settle(self, escalation: Escalation, owner: str) -> bool:
        self._fault("settle")
        return await super().settle(escalation, owner)


async def test_no_fault_ends_the_dispatcher() -> None:
    of = Feedback(clock=LoopClock(), outbox=FaultyOutbox(claim=2, settle=1))
    await of.outbox.put(rows(3), "nobody", START)
    await run(of, 30)
    assert [one.state for one in await of.escalations()] == [State.DELIVERED] * 3


async def test_a_result_that_could_not_be_stored_is_delivered_again_when_the_lease_ends() -> None:
    of = Feedback(clock=LoopClock())
    await of.outbox.put(rows(1), "nobody", START)
    of.outbox.fails = {"settle"}
    await run(of, 5)
    of.outbox.fails = set()
    assert [one.state for one in await of.escalations()] == [State.PENDING]
    await run(of, 15)
    assert [one.state for one in await of.escalations()] == [State.DELIVERED]


async def test_a_fault_when_a_result_is_stored_makes_no_report_fail() -> None:
    of = Feedback(mode=PathMode.HUMAN_ONLY, human=ScriptedTarget(in_process=True), outbox=FaultyOutbox(settle=1))
    assert (await of.failed()).failures_seen == 1
    assert [one.state for one in await of.escalations()] == [State.PENDING]


@pytest.mark.parametrize(
    "script", [[ValueError("a bug"), State.DELIVERED], [StoreUnavailable("away"), State.DELIVERED]]
)
async def test_a_fault_of_a_target_concerns_its_row_alone_and_passes(script: list[Line]) -> None:
    of = Feedback(human=ScriptedTarget(*script), clock=LoopClock())
    await of.outbox.put(rows(3), "nobody", START)
    await run(of, 5)
    assert [one.state for one in await of.escalations()] == [State.DELIVERED] * 3
    assert sorted(one.attempts for one in await of.escalations()) == [1, 1, 2]
