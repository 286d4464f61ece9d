"""Runs blocking calls off the event loop, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from adapters.threads import Threads

Result = TypeVar("Result")


class OneAtATime:
    """Guards data that one thread may touch at a time: a thread of its own, so that nobody else's are taken away."""

    def __init__(self) -> None:
        self._thread = Threads(1, "one-at-a-time")
        self._lock = threading.Lock()

    async def in_thread(self, call: Callable[[], Result]) -> Result:
        """The call's result, computed in the thread.

        A cancelled caller leaves at once. A call that has begun goes on to its end, and the next one waits for that.
        """
        return await self._thread.run(lambda: self._locked(call))

    async def at_once(self, call: Callable[[], Result]) -> Result:
        """The result of a short call, computed right here unless the data are in use: then in the thread."""
        if not self._lock.acquire(blocking=False):
            return await self.in_thread(call)
        try:
            return call()
        finally:
            self._lock.release()

    def _locked(self, call: Callable[[], Result]) -> Result:
        with self._lock:
            return call()
