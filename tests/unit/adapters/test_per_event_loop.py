from __future__ import annotations

import asyncio
import gc
import threading
import time

import anyio
import anyio.lowlevel
import pytest

from adapters.per_event_loop import PerEventLoop


class Client:
    """Keeps where it was made, and whether it was closed and in which loop."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.closed = anyio.Event()
        self.closed_in: list[asyncio.AbstractEventLoop] = []

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.closed_in.append(asyncio.get_running_loop())
        self.closed.set()


async def test_a_loop_keeps_its_client_which_is_made_off_the_loop() -> None:
    clients = PerEventLoop(Client)
    client = await clients.current()
    assert await clients.current() is client
    assert client.thread is not threading.current_thread()
    await clients.aclose()


async def test_those_that_ask_first_and_together_share_one_client() -> None:
    made: list[Client] = []

    def connect() -> Client:
        time.sleep(0.05)
        made.append(Client())
        return made[-1]

    clients = PerEventLoop(connect)
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(clients.current)
    assert len(made) == 1
    await clients.aclose()


def test_each_loop_has_a_client_of_its_own_which_is_closed_when_the_loop_ends() -> None:
    clients = PerEventLoop(Client)

    async def use() -> tuple[Client, asyncio.AbstractEventLoop]:
        return await clients.current(), asyncio.get_running_loop()

    first, first_loop = asyncio.run(use())
    second, second_loop = asyncio.run(use())
    assert first is not second
    assert (first.closed_in, second.closed_in) == ([first_loop], [second_loop])


async def test_a_closed_client_is_replaced_when_next_asked_for() -> None:
    clients = PerEventLoop(Client)
    first = await clients.current()
    await clients.aclose()
    await clients.aclose()
    second = await clients.current()
    assert first is not second
    assert (len(first.closed_in), len(second.closed_in)) == (1, 0)
    await clients.aclose()


async def test_closing_where_nothing_was_opened_does_nothing() -> None:
    await PerEventLoop(Client).aclose()


async def test_a_client_that_nobody_holds_any_more_is_closed() -> None:
    client = await PerEventLoop(Client).current()
    gc.collect()
    with anyio.fail_after(1):
        await client.closed.wait()


async def test_a_failure_to_connect_is_raised_and_the_next_try_starts_afresh() -> None:
    outcomes = [OSError("no"), None]

    def connect() -> Client:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return Client()

    clients = PerEventLoop(connect)
    with pytest.raises(OSError, match="no"):
        await clients.current()
    assert isinstance(await clients.current(), Client)
    await clients.aclose()


async def test_whoever_is_cancelled_while_it_connects_leaves_at_once() -> None:
    may_end = threading.Event()

    def connect() -> Client:
        may_end.wait(5)
        return Client()

    clients = PerEventLoop(connect)
    started = time.monotonic()
    with anyio.move_on_after(0.05):
        await clients.current()
    assert time.monotonic() - started < 1
    may_end.set()
    assert isinstance(await clients.current(), Client)
    await clients.aclose()
