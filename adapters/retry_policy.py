"""When a failed call is worth another try, and how long to wait before it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import msgspec


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """At most `attempts` calls in all, with waits that start near `base_s` seconds and double.

    Each wait is spread over the upper half of its length, so that clients that failed together do not come back
    together. `spread` gives a number from 0 to 1.
    """

    attempts: int = 3
    base_s: float = 0.5
    spread: Callable[[], float] = random.random

    def wait_s(self, *, failures: int, retry_after_s: float | None, remaining_s: float) -> float | None:
        """Seconds to wait after the given number of failures, or None: give up.

        Never shorter than `retry_after_s`. A wait that would use up `remaining_s` is none: the caller is better served
        by an answer now than by a timeout later.
        """
        if failures >= self.attempts:
            return None
        backoff_s = self.base_s * 2.0 ** (failures - 1) * (1 + self.spread()) / 2
        wait_s = max(backoff_s, retry_after_s or 0.0)
        return wait_s if wait_s < remaining_s else None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks to wait, at least 0; None where it asks for nothing that can be understood.

    Reads `retry-after-ms`, and `retry-after` as seconds or as an HTTP date. The keys are in lower case.
    """
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit_s
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        moment = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
