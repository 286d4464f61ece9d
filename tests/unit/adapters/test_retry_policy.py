from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from adapters.retry_policy import RetryPolicy, retry_after_s

PLENTY = 1000.0


def waits(policy: RetryPolicy, *, retry_after: float | None = None, remaining: float = PLENTY) -> list[float | None]:
    return [
        policy.wait_s(failures=failures, retry_after_s=retry_after, remaining_s=remaining) for failures in range(1, 6)
    ]


def test_waits_double_until_the_attempts_are_used_up() -> None:
    assert waits(RetryPolicy(attempts=5, base_s=0.5, spread=lambda: 1.0)) == [0.5, 1.0, 2.0, 4.0, None]


def test_waits_are_spread_over_the_upper_half_of_their_length() -> None:
    assert waits(RetryPolicy(attempts=3, base_s=1.0, spread=lambda: 0.0))[:2] == [0.5, 1.0]
    for wait in (wait for _ in range(100) for wait in waits(RetryPolicy(base_s=1.0))[:1]):
        assert wait is not None
        assert 0.5 <= wait <= 1.0


def test_a_wait_is_never_shorter_than_the_api_asks_for() -> None:
    policy = RetryPolicy(attempts=4, base_s=1.0, spread=lambda: 1.0)
    assert waits(policy, retry_after=3.0) == [3.0, 3.0, 4.0, None, None]


def test_a_wait_that_would_use_up_the_time_left_is_not_begun() -> None:
    policy = RetryPolicy(attempts=4, base_s=1.0, spread=lambda: 1.0)
    assert waits(policy, remaining=2.0) == [1.0, None, None, None, None]
    assert waits(policy, retry_after=3600.0, remaining=20.0) == [None] * 5


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}, 0.0),
    ],
)
def test_the_time_that_the_api_asks_for_is_read_from_its_headers(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers) == seconds


def test_the_time_that_the_api_asks_for_may_be_a_date() -> None:
    in_a_minute = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=60), usegmt=True)
    assert retry_after_s({"retry-after": in_a_minute}) == pytest.approx(60, abs=2)
