"""A few threads that work for event loops. A hop to one of them and back costs half of what an executor's does."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


class Threads:
    """`count` threads that take calls from one queue, in order. They start with the first call.

    They end with `stop`, with this object, or with the program, each after the call that it is at.
    """

    def __init__(self, count: int, name: str) -> None:
        self._calls: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=_serve, args=(self._calls,), name=name, daemon=True) for _ in range(count)
        ]
        self._started = False
        self._end = weakref.finalize(self, _end, self._calls, count)

    async def run(self, work: Callable[[], _T]) -> _T:
        """What `work` answers or raises. Cancelled before its turn, it is not begun."""
        if not self._started:
            self._started = True
            for thread in self._threads:
                thread.start()
        call = _Call(work, asyncio.get_running_loop())
        self._calls.put(call)
        return await call.result

    def stop(self) -> None:
        """Ends the threads once all that was called is done, and waits for that."""
        self._end()
        if self._started:
            for thread in self._threads:
                thread.join()


class _Call(Generic[_T]):
    """One call, and the future of the event loop that waits for it."""

    def __init__(self, work: Callable[[], _T], loop: asyncio.AbstractEventLoop) -> None:
        self._work = work
        self._loop = loop
        self.result: asyncio.Future[_T] = loop.create_future()

    def carry_out(self) -> None:
        if self.result.cancelled():
            return
        try:
            answer = self._work()
        except BaseException as error:
            self._tell(self.result.set_exception, error)
        else:
            self._tell(self.result.set_result, answer)

    def _tell(self, settle: Callable[[Any], None], answer: object) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, settle, answer)

    def _settle(self, settle: Callable[[Any], None], answer: object) -> None:
        if not self.result.done():
            settle(answer)


def _serve(calls: SimpleQueue[_Call[Any] | None]) -> None:
    while (call := calls.get()) is not None:
        call.carry_out()
        del call  # which would live on, with its result, until the next one comes


def _end(calls: SimpleQueue[_Call[Any] | None], count: int) -> None:
    for _ in range(count):
        calls.put(None)
