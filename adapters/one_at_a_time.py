"""Runs blocking calls off the event loop, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

Result = TypeVar("Result")


class OneAtATime:
    """Guards data that one thread may touch at a time.

    Callers that wait do not take worker threads away from anybody else.
    """

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(1)
        self._lock = threading.Lock()

    async def in_thread(self, call: Callable[[], Result]) -> Result:
        """The call's result, computed in a worker thread.

        A cancelled caller leaves at once. A call that has begun goes on to its end, and the next one waits for that.
        """
        return await run_sync(self._locked, call, limiter=self._limiter, abandon_on_cancel=True)

    async def at_once(self, call: Callable[[], Result]) -> Result:
        """The result of a short call, computed right here unless the data are in use: then in a worker thread."""
        if not self._lock.acquire(blocking=False):
            return await self.in_thread(call)
        try:
            return call()
        finally:
            self._lock.release()

    def _locked(self, call: Callable[[], Result]) -> Result:
        with self._lock:
            return call()
