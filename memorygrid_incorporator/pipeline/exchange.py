"""One call to the service as data and decisions, without any I/O: what to send, whether to send it again, and when.

Both clients drive it with the same few lines, one with `await` and one without:

    while True:
        send the exchange's url, headers and content within its timeout
        pause = exchange.pause_after(what came of it)
        if pause is None: raise or return exchange.read(response)
        sleep(pause)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from secrets import SystemRandom
from typing import Generic, TypeVar

import httpx
import msgspec

from memorygrid_incorporator.pipeline.problems import is_in_progress

Answer = TypeVar("Answer")

TURNED_AWAY = frozenset({429, 502, 503})
LONGEST_CONNECT_S = 5.0
SHORTEST_ATTEMPT_S = 0.1

_random = SystemRandom()


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how often one call is tried.

    `timeout_s` bounds the whole call in seconds, all attempts and pauses together. `attempts` is how often a request
    is sent (1: never again) that loses its connection or is turned away. The n-th pause is drawn from the upper half
    of `backoff_s` * 2^(n-1) seconds, is no shorter than the answer's Retry-After, and at most `max_pause_s`.
    """

    timeout_s: float
    attempts: int
    backoff_s: float
    max_pause_s: float

    def __post_init__(self) -> None:
        if self.timeout_s <= 0 or self.attempts < 1 or self.backoff_s < 0 or self.max_pause_s < 0:
            raise ValueError("timeout_s must be positive, attempts at least 1, backoff_s and max_pause_s not negative")


class Exchange(Generic[Answer]):
    """The same request, with the same idempotency key, until it is answered or given up. Its time runs from now.

    `plainer` makes of a refusal the content to send once instead, or None where the refusal is final.

    An answer that an earlier request with this key is still being worked on (409) is waited out until the time is up
    and takes no attempt: it is what follows a connection that was lost while the model was thinking.
    """

    def __init__(
        self,
        *,
        url: httpx.URL,
        headers: httpx.Headers,
        content: bytes,
        policy: RetryPolicy,
        read: Callable[[httpx.Response], Answer],
        plainer: Callable[[httpx.Response], bytes | None] | None = None,
    ) -> None:
        self.url = url
        self.headers = headers
        self.content = content
        self.read = read
        self._plainer = plainer
        self._policy = policy
        self._deadline = time.monotonic() + policy.timeout_s
        self._attempts_left = policy.attempts
        self._pauses = 0

    @property
    def time_left_s(self) -> float:
        """Seconds until the call is given up; 0 from then on."""
        return max(self._deadline - time.monotonic(), 0.0)

    @property
    def timeout(self) -> httpx.Timeout:
        """The bounds of the next attempt's single waits for the network."""
        return httpx.Timeout(self.time_left_s, connect=min(self.time_left_s, LONGEST_CONNECT_S))

    def pause_after(self, result: httpx.Response | httpx.TransportError) -> float | None:
        """Seconds until the request should be sent again, or None where `result` is final.

        It is final too where the pause would leave no time for another attempt: what the service said last is worth
        more to the caller than a timeout.
        """
        if isinstance(result, httpx.Response) and is_in_progress(result):
            return self._next_pause(_retry_after_s(result))
        if isinstance(result, httpx.Response) and result.status_code not in TURNED_AWAY:
            return self._pause_before_plainer(result)
        self._attempts_left -= 1
        if self._attempts_left == 0:
            return None
        return self._next_pause(_retry_after_s(result) if isinstance(result, httpx.Response) else 0.0)

    def _pause_before_plainer(self, refusal: httpx.Response) -> float | None:
        content = self._plainer(refusal) if self._plainer else None
        if content is None:
            return None
        self.content, self._plainer = content, None
        return 0.0

    def _next_pause(self, asked_s: float) -> float | None:
        step_s = min(self._policy.backoff_s * 2.0**self._pauses, self._policy.max_pause_s)
        pause_s = min(max(asked_s, _random.uniform(step_s / 2, step_s)), self._policy.max_pause_s)
        self._pauses += 1
        return pause_s if pause_s + SHORTEST_ATTEMPT_S <= self.time_left_s else None


def _retry_after_s(response: httpx.Response) -> float:
    """The seconds that the answer asks to wait, as a number or until a date; 0 where it does not say."""
    value = response.headers.get("Retry-After", "")
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return (moment - datetime.now(timezone.utc)).total_seconds()
