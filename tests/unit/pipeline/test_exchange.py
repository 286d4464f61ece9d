from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import httpx
import pytest

from memorygrid_incorporator.pipeline.exchange import Exchange, RetryPolicy

LOST = httpx.ConnectError("refused")


def exchange(*, timeout_s: float = 60.0, attempts: int = 10) -> Exchange[int]:
    return Exchange(
        url=httpx.URL("http://localhost"),
        headers=httpx.Headers(),
        content=b"{}",
        policy=RetryPolicy(timeout_s=timeout_s, attempts=attempts, backoff_s=1.0, max_pause_s=5.0),
        read=lambda response: response.status_code,
    )


def turned_away(retry_after: str) -> httpx.Response:
    return httpx.Response(503, headers={"Retry-After": retry_after})


def test_pauses_double_with_jitter_up_to_the_longest() -> None:
    call = exchange()
    pauses = [call.pause_after(LOST) for _ in range(5)]
    for pause, (low, high) in zip(pauses, [(0.5, 1.0), (1.0, 2.0), (2.0, 4.0), (2.5, 5.0), (2.5, 5.0)], strict=True):
        assert pause is not None
        assert low <= pause <= high


def test_two_clients_that_fail_together_do_not_come_back_together() -> None:
    assert len({exchange().pause_after(LOST) for _ in range(20)}) > 1


def test_a_pause_is_never_shorter_than_retry_after() -> None:
    assert exchange().pause_after(turned_away("3")) == 3.0


def test_retry_after_may_be_a_date() -> None:
    in_four_seconds = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=4), usegmt=True)
    pause = exchange().pause_after(turned_away(in_four_seconds))
    assert pause is not None
    assert 2.5 < pause <= 4.0


@pytest.mark.parametrize(
    "value", ["", "soon", "-5", "1.5", "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 -0000"]
)
def test_a_retry_after_that_is_past_or_unreadable_leaves_the_own_pause(value: str) -> None:
    pause = exchange().pause_after(turned_away(value))
    assert pause is not None
    assert 0.5 <= pause <= 1.0


@pytest.mark.parametrize("value", ["3600", "9" * 400])
def test_a_retry_after_is_capped(value: str) -> None:
    assert exchange().pause_after(turned_away(value)) == 5.0


def test_success_is_final() -> None:
    assert exchange().pause_after(httpx.Response(200)) is None


def test_the_last_attempt_is_final() -> None:
    call = exchange(attempts=2)
    assert call.pause_after(LOST) is not None
    assert call.pause_after(LOST) is None


def test_a_pause_that_leaves_no_time_for_an_attempt_is_not_begun() -> None:
    assert exchange(timeout_s=3.05).pause_after(turned_away("3")) is None
    assert exchange(timeout_s=4.0).pause_after(turned_away("3")) == 3.0


def test_connecting_has_a_shorter_time_than_answering() -> None:
    timeout = exchange().timeout
    assert timeout.connect == 5.0
    assert timeout.read is not None
    assert 59.0 < timeout.read <= 60.0
