"""How long a request may take, watched by one timer for all."""

from __future__ import annotations

import asyncio

from entrypoints.http.deadlines import Deadlines

TIMEOUT_S = 0.05


async def outcome(task: asyncio.Task[str]) -> str:
    try:
        return await asyncio.wait_for(asyncio.shield(task), 5)
    except asyncio.CancelledError:
        return "cancelled"


async def working(deadlines: Deadlines, seconds: float) -> str:
    """Says whether its time was over when it ended."""
    watch = deadlines.watch()
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        if not watch.over:
            raise
        return "late"
    finally:
        watch.end()
    return "in time"


async def test_a_request_that_takes_too_long_is_cancelled_and_one_in_time_is_not() -> None:
    deadlines = Deadlines(TIMEOUT_S)
    slow = asyncio.create_task(working(deadlines, 30))
    fast = asyncio.create_task(working(deadlines, 0.001))
    assert [await outcome(slow), await outcome(fast)] == ["late", "in time"]


async def test_requests_that_begin_later_have_their_own_time() -> None:
    deadlines = Deadlines(TIMEOUT_S)
    began = asyncio.get_running_loop().time()
    tasks = []
    for _ in range(5):
        tasks.append(asyncio.create_task(working(deadlines, 30)))
        await asyncio.sleep(TIMEOUT_S / 2)
    assert [await outcome(task) for task in tasks] == ["late"] * 5
    assert asyncio.get_running_loop().time() - began >= TIMEOUT_S * 3


async def test_a_pause_between_requests_ends_no_watch() -> None:
    deadlines = Deadlines(TIMEOUT_S)
    assert await working(deadlines, 0.0) == "in time"
    await asyncio.sleep(TIMEOUT_S * 2)
    assert await outcome(asyncio.create_task(working(deadlines, 30))) == "late"


async def test_what_goes_on_in_spite_of_its_cancellation_is_cancelled_again() -> None:
    async def stubborn() -> str:
        watch = Deadlines(TIMEOUT_S).watch()
        ignored = 0
        while True:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                ignored += 1
                if ignored == 2:
                    watch.end()
                    return "gave in"

    assert await outcome(asyncio.create_task(stubborn())) == "gave in"


async def test_after_its_watch_has_ended_a_task_is_as_if_it_had_never_been_cancelled() -> None:
    async def answering() -> str:
        assert await working(Deadlines(TIMEOUT_S), 30) == "late"
        await asyncio.wait_for(asyncio.sleep(0), 1)
        await asyncio.sleep(TIMEOUT_S * 3)
        task = asyncio.current_task()
        assert task is not None
        assert getattr(task, "cancelling", lambda: 0)() == 0
        return "answered"

    assert await outcome(asyncio.create_task(answering())) == "answered"


async def test_somebody_elses_cancellation_stays_one() -> None:
    task = asyncio.create_task(working(Deadlines(30), 30))
    await asyncio.sleep(0)
    task.cancel()
    assert await outcome(task) == "cancelled"


def test_each_event_loop_has_its_own_watches() -> None:
    deadlines = Deadlines(TIMEOUT_S)

    async def leaves_one_behind() -> None:
        deadlines.watch()

    asyncio.run(leaves_one_behind())
    assert asyncio.run(working(deadlines, 30)) == "late"
