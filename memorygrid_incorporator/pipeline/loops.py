"""One HTTP client for each event loop that a hook is used in.

A pooled connection belongs to the loop that opened it. A hook made at module level outlives its loops, as every
`asyncio.run` makes a new one, so it must neither use a dead loop's connections nor leave them open.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, Callable, Coroutine

import httpx


class ClientPerLoop:
    """Gives the running loop's client, made at its first use there and closed when the loop shuts down.

    The closing is an async generator's `finally`, as a loop finishes its generators before it ends (`asyncio.run` and
    every other runner sees to it). Safe to use from several threads, each with its own loop.
    """

    def __init__(self, make_client: Callable[[], httpx.AsyncClient]) -> None:
        self._make_client = make_client
        self._open: dict[AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None, None]]] = {}

    async def get(self) -> httpx.AsyncClient:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._forget_dead_loops()
            client = self._make_client()
            lifetime = self._until_the_end_of(loop, client)
            self._open[loop] = client, lifetime
            await anext(lifetime)
        return self._open[loop][0]

    async def aclose(self) -> None:
        """Close the running loop's client, if there is one; the next use makes another."""
        _, lifetime = self._open.pop(asyncio.get_running_loop(), (None, None))
        if lifetime is not None:
            await lifetime.aclose()

    async def _until_the_end_of(self, loop: AbstractEventLoop, client: httpx.AsyncClient) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._open.pop(loop, None)
            await client.aclose()

    def _forget_dead_loops(self) -> None:
        """Let go of loops that were closed without the shutdown of their generators."""
        for loop in [loop for loop in list(self._open) if loop.is_closed()]:
            self._open.pop(loop, None)


async def within(
    seconds: float, sending: Coroutine[None, None, httpx.Response], request: httpx.Request
) -> httpx.Response:
    """The response to `request`, if it comes in time; else raises `httpx.ReadTimeout`.

    httpx bounds each wait for the network, this bounds their sum. (`asyncio.wait_for` would do, but before Python
    3.12 it can swallow the caller's cancellation.)
    """
    task = asyncio.create_task(sending)
    task.add_done_callback(_retrieve)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise httpx.ReadTimeout(f"no answer within {seconds:.1f} s", request=request)
        return task.result()
    finally:
        task.cancel()


def _retrieve(task: asyncio.Task[httpx.Response]) -> None:
    """Take note of an error that nobody waits for any more, which asyncio would complain about."""
    if not task.cancelled():
        task.exception()
