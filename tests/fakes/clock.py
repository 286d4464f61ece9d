"""Time and ids as a test wants them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from application.shared.ports import Clock, IdFactory

START = datetime(2026, 10, 22, 10, 0, 0, 123_456, tzinfo=timezone.utc)


class FakeClock(Clock):
    """Stands still until it is told otherwise; with `tick_s`, every look at it moves it on by that much."""

    def __init__(self, at: datetime = START, *, tick_s: float = 0.0) -> None:
        self.at = at
        self._tick = timedelta(seconds=tick_s)

    def now(self) -> datetime:
        now = self.at
        self.at += self._tick
        return now

    def advance(self, seconds: float) -> datetime:
        self.at += timedelta(seconds=seconds)
        return self.at


class CountingIds(IdFactory):
    """UUIDs of version 7 in their canonical form, in order. `series` keeps two factories apart."""

    def __init__(self, series: int = 0) -> None:
        self._series = series
        self._given = 0

    def __call__(self) -> str:
        self._given += 1
        return f"{self._series:08x}-0000-7000-8000-{self._given:012x}"
