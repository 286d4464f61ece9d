"""gRPC's events reach the loop that is there; the end of another loop's call is no failure of a test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from typing import TypeVar

import anyio
import anyio.lowlevel
import pytest

from tests.servers.event_loop import EventLoop

aio = pytest.importorskip("grpc.aio", reason="needs the extra [milvus]")

Result = TypeVar("Result")


def closed_loop_with_an_open_call(port: int) -> object:
    """A call whose end comes when its loop is closed: after 0.2 s."""

    async def call() -> object:
        channel = aio.insecure_channel(f"127.0.0.1:{port}")
        under_way = channel.unary_unary("/a/call")(b"", timeout=0.2, wait_for_ready=True)
        await anyio.sleep(0.05)
        return channel, under_way

    return run(asyncio.new_event_loop(), call())


def run(loop: asyncio.AbstractEventLoop, work: Coroutine[object, object, Result]) -> Result:
    """Runs it to its end on a loop that is then closed."""
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


@pytest.mark.parametrize(("kind", "complaints"), [(EventLoop, 0), (asyncio.SelectorEventLoop, 1)])
def test_the_end_of_a_call_of_a_closed_loop_is_not_told_to_another(
    kind: type[asyncio.SelectorEventLoop], complaints: int
) -> None:
    told: list[object] = []

    async def later() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            channel.get_state(try_to_connect=True)
            await anyio.sleep(0.5)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        kept = closed_loop_with_an_open_call(port)
        run(kind(), later())
    assert kept
    assert len(told) == complaints


def test_every_other_exception_in_a_loop_is_told() -> None:
    told: list[object] = []

    async def fails() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(str(context["exception"])))
        closed = asyncio.new_event_loop()
        closed.close()
        loop.call_soon(closed.call_soon_threadsafe, print)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()

    run(EventLoop(), fails())
    assert told == ["Event loop is closed"]
