"""An event loop whose clock jumps to the next thing that is due, so that hours of waiting cost no time at all.

A test module asks for it with a fixture `anyio_backend` of its own that answers `VIRTUAL_TIME`.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import anyio

from tests.fakes.clock import START, FakeClock


class _Selector(selectors.DefaultSelector):
    """Instead of waiting it moves the clock on, unless something has happened already."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        happened: Sequence[Any] = super().select(0)
        if not happened:
            self.now += timeout
        return happened


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


VIRTUAL_TIME = ("asyncio", {"loop_factory": VirtualTimeLoop})


class LoopClock(FakeClock):
    """Goes with the event loop, from `START` on when it is made."""

    def __init__(self) -> None:
        super().__init__()
        self._began = anyio.current_time()

    def now(self) -> datetime:
        return START + timedelta(seconds=self.elapsed)

    @property
    def elapsed(self) -> float:
        """Seconds since it was made."""
        return anyio.current_time() - self._began
