"""Calls in a thread, one after the other, whatever becomes of whoever waits for them."""

from __future__ import annotations

import asyncio
import threading

import pytest

from adapters.one_at_a_time import OneAtATime


class Work:
    """A call that goes on until it is let go; counts how many are at work at once."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.let_go = threading.Event()
        self.at_work = self.most_at_work = self.done = 0

    def __call__(self) -> str:
        self.at_work += 1
        self.most_at_work = max(self.at_work, self.most_at_work)
        self.began.set()
        assert self.let_go.wait(10)
        self.at_work -= 1
        self.done += 1
        return "done"


async def begun(turns: OneAtATime, work: Work) -> asyncio.Task[str]:
    task = asyncio.create_task(turns.in_thread(work))
    assert await asyncio.to_thread(work.began.wait, 10)
    return task


async def cancelled(task: asyncio.Task[str]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


async def test_the_next_call_waits_for_one_whose_caller_was_cancelled() -> None:
    turns, work = OneAtATime(), Work()
    await cancelled(await begun(turns, work))
    behind = [asyncio.create_task(turns.in_thread(work)) for _ in range(3)]
    short = asyncio.create_task(turns.at_once(lambda: work.at_work))
    await asyncio.sleep(0.02)
    assert not any(task.done() for task in (*behind, short))
    work.let_go.set()
    assert await asyncio.gather(*behind) == ["done"] * 3
    assert await short == 0
    assert (work.done, work.most_at_work) == (4, 1)


async def test_callers_that_wait_take_no_thread_from_anybody() -> None:
    turns, work = OneAtATime(), Work()
    first = await begun(turns, work)
    threads = threading.active_count()
    waiting = [asyncio.create_task(turns.in_thread(work)) for _ in range(20)]
    await cancelled(first)
    waiting += [asyncio.create_task(turns.in_thread(work)) for _ in range(20)]
    await asyncio.sleep(0.02)
    assert threading.active_count() == threads
    work.let_go.set()
    await asyncio.gather(*waiting)


async def test_a_call_that_is_cancelled_before_its_turn_is_not_begun() -> None:
    turns, work = OneAtATime(), Work()
    first = await begun(turns, work)
    second = asyncio.create_task(turns.in_thread(work))
    await asyncio.sleep(0)
    await cancelled(second)
    work.let_go.set()
    assert await first == "done"
    assert await turns.in_thread(lambda: work.done) == 1
