"""Keeps a service that does not answer from costing every request its full time limit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from domain.errors import Unavailable

logger = logging.getLogger(__name__)


class Call:
    """One call on its way. Whoever makes it says how it ended; one that ends unsaid (cancelled) counts as none."""

    __slots__ = ("alive", "reason")

    def __init__(self) -> None:
        self.alive: bool | None = None
        self.reason = ""

    def succeeded(self) -> None:
        """The service is there, whatever it said."""
        self.alive = True

    def failed(self, reason: str) -> None:
        """The service is away, or of no use to anyone. `reason` is one sentence."""
        self.alive, self.reason = False, reason


class CircuitBreaker:
    """Closed: every call goes. Open: none does. Half-open: one does, and its end decides.

    `what` is the service's name at the start of a sentence, `error` what a refused call raises.
    `threshold` failures in a row open it for `open_s` seconds; then it is half-open until a call has succeeded (closed)
    or failed (open again). Used from one thread; it outlives event loops, hence a `clock` of its own, in seconds.
    """

    def __init__(
        self,
        what: str,
        error: type[Unavailable],
        *,
        threshold: int = 5,
        open_s: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._error = error
        self._threshold = threshold
        self._open_s = open_s
        self._clock = clock
        self._failures = 0
        self._opened_at: float | None = None
        self._trial_under_way = False
        self._reason = ""

    def problem(self) -> str | None:
        """Why no call may go just now, or None where one may."""
        if self._opened_at is None:
            return None
        left_s = self._opened_at + self._open_s - self._clock()
        if left_s <= 0 and not self._trial_under_way:
            return None
        until = f"is left alone for {left_s:.1f} s more" if left_s > 0 else "is being tried again"
        return f"{self._what} failed {self._failures} times in a row and {until}. {self._reason}"

    @contextmanager
    def call(self) -> Iterator[Call]:
        """Admits one call and learns from its end. Raises `error` where no call may go."""
        if (problem := self.problem()) is not None:
            raise self._error(problem)
        trial = self._opened_at is not None
        self._trial_under_way = trial
        call = Call()
        try:
            yield call
        finally:
            if trial:
                self._trial_under_way = False
            if call.alive is not None:
                self._learn(call, trial=trial)

    def _learn(self, call: Call, *, trial: bool) -> None:
        if call.alive:
            if self._opened_at is not None:
                logger.info("%s answers again.", self._what)
            self._failures, self._opened_at = 0, None
            return
        self._failures += 1
        self._reason = call.reason
        # A call that set out before the circuit opened and fails after that tells nothing new.
        if trial if self._opened_at is not None else self._failures >= self._threshold:
            self._opened_at = self._clock()
            logger.warning(
                "%s failed %d times in a row and is left alone for %g s. %s",
                self._what,
                self._failures,
                self._open_s,
                self._reason,
            )
