"""The time that the language model may take for one request, shared by the calls that the request makes."""

from __future__ import annotations

import anyio


class LlmBudget:
    """`seconds` from the first use on. Both model calls of one request (match, apply) draw on it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: float | None = None

    @property
    def is_used(self) -> bool:
        """Whether the model was asked, or nearly so: time may have passed since the lesson was found."""
        return self._ends is not None

    def left(self) -> float:
        """Seconds left, never negative; the clock starts with the first call."""
        now = anyio.current_time()
        if self._ends is None:
            self._ends = now + self._seconds
        return max(0.0, self._ends - now)
