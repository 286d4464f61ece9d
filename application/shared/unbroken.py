"""Work that is not cut in two: what was begun is finished, also where whoever waits for it gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")

#: Held here since an event loop forgets tasks that nobody holds.
_running: set[asyncio.Task[Any]] = set()


async def unbroken(work: Coroutine[Any, Any, _T]) -> _T:
    """The work's result, or what it raises. Where the caller is cancelled it goes on, and fails in silence if it fails.

    For what must follow a transaction, which itself goes on when its caller is cancelled.
    """
    task = asyncio.get_running_loop().create_task(work)
    _running.add(task)
    task.add_done_callback(_ended)
    return await asyncio.shield(task)


async def ended(within_s: float) -> None:
    """Waits until nothing goes on in this event loop any more, but no longer than so many seconds."""
    loop = asyncio.get_running_loop()
    mine = [task for task in list(_running) if task.get_loop() is loop]  # other threads' loops change the set
    if mine:
        await asyncio.wait(mine, timeout=within_s)


def _ended(task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if not task.cancelled():
        task.exception()  # otherwise the event loop logs that nobody asked for it
