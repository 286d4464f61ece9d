from __future__ import annotations

import socket
import time

import httpx
import pytest

from memorygrid_incorporator.pipeline.incorporator_hook import IncorporatorHookClient
from tests.unit.pipeline.callers import QUERY, Caller
from tests.unit.pipeline.conftest import MakeCaller
from tests.unit.pipeline.service import DROPPED, IN_PROGRESS, OUTCOME, Answer, Service, problem

BUSY = problem(503, "store-unavailable", "the database is away", Retry_After="0")


def test_a_lost_connection_is_tried_again_with_the_same_key_and_body(caller: Caller, service: Service) -> None:
    service.will_answer(DROPPED, DROPPED)
    assert caller.invoke().id == "outcome-1"
    assert len(service.idempotency_keys()) == 3
    assert len(set(service.idempotency_keys())) == 1
    assert service.received[0].body == service.received[2].body


def test_a_service_that_is_not_there_is_a_transport_error_after_the_attempts(make_caller: MakeCaller) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(httpx.TransportError):
            make_caller(url=url).invoke()


@pytest.mark.parametrize(
    "refusal", [problem(429, "overloaded", Retry_After="0"), BUSY, Answer(status=502, body=b"bad gateway")]
)
def test_a_request_that_was_turned_away_is_sent_again_with_the_same_key(
    caller: Caller, service: Service, refusal: Answer
) -> None:
    service.will_answer(refusal, refusal)
    assert caller.report(True).id == "entry-1"
    assert len(service.idempotency_keys()) == 3
    assert len(set(service.idempotency_keys())) == 1


def test_after_the_last_attempt_the_last_answer_is_raised(make_caller: MakeCaller, service: Service) -> None:
    service.will_answer(DROPPED, BUSY, BUSY, BUSY)
    with pytest.raises(httpx.HTTPStatusError, match=r"503 Service Unavailable .*: the database is away"):
        make_caller(attempts=3).invoke()
    assert len(service.received) == 3


def test_one_attempt_means_never_again(make_caller: MakeCaller, service: Service) -> None:
    service.will_answer(DROPPED)
    with pytest.raises(httpx.TransportError):
        make_caller(attempts=1).invoke()
    assert len(service.received) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 405, 409, 413, 415, 422, 500, 504])
def test_what_another_attempt_would_not_change_is_raised_at_once(caller: Caller, service: Service, status: int) -> None:
    service.will_answer(problem(status, "some-code"))
    with pytest.raises(httpx.HTTPStatusError):
        caller.invoke()
    assert len(service.received) == 1


@pytest.mark.parametrize("refusal", [IN_PROGRESS, problem(409, "conflict", Retry_After="0")])
def test_a_request_in_progress_is_waited_for_and_takes_no_attempt(
    make_caller: MakeCaller, service: Service, refusal: Answer
) -> None:
    service.will_answer(DROPPED, *[refusal] * 5)
    assert make_caller(attempts=2).invoke().id == "outcome-1"
    assert len(service.idempotency_keys()) == 7
    assert len(set(service.idempotency_keys())) == 1


def test_a_request_in_progress_is_waited_for_no_longer_than_the_timeout(
    make_caller: MakeCaller, service: Service
) -> None:
    service.will_answer(*[IN_PROGRESS] * 100)
    started = time.monotonic()
    with pytest.raises(httpx.HTTPStatusError, match=r"409 Conflict .*: the same key is being worked on"):
        make_caller(timeout_s=1.0, max_pause_s=0.1).invoke()
    assert time.monotonic() - started < 1.5


def test_retry_after_is_honoured(make_caller: MakeCaller, service: Service) -> None:
    service.will_answer(problem(503, "unavailable", Retry_After="1"))
    started = time.monotonic()
    make_caller(max_pause_s=5.0).invoke()
    assert 1.0 <= time.monotonic() - started < 2.0


def test_a_retry_after_of_an_hour_is_capped(make_caller: MakeCaller, service: Service) -> None:
    service.will_answer(problem(429, "overloaded", Retry_After="3600"))
    started = time.monotonic()
    make_caller(max_pause_s=0.05).invoke()
    assert 0.05 <= time.monotonic() - started < 1.0


def test_a_service_that_hangs_is_given_up_after_the_timeout(make_caller: MakeCaller, service: Service) -> None:
    service.will_answer(Answer(delay_s=2.0, drop=True))
    started = time.monotonic()
    with pytest.raises(httpx.TimeoutException) as caught:
        make_caller(timeout_s=0.3).invoke()
    assert 0.3 <= time.monotonic() - started < 1.0
    assert caught.value.request.url.path == "/incorporator/invoke"
    assert len(service.received) == 1


async def test_an_answer_that_trickles_is_given_up_after_the_timeout(service: Service) -> None:
    service.will_answer(Answer(body=OUTCOME, trickle_s=0.05))
    started = time.monotonic()
    async with IncorporatorHookClient(service.url, timeout_s=0.3) as hook:
        with pytest.raises(httpx.ReadTimeout, match=r"no answer within 0\.3 s") as caught:
            await hook.invoke(**QUERY)
    assert time.monotonic() - started < 1.0
    assert caught.value.request.url.path == "/incorporator/invoke"


def test_an_https_address_is_never_spoken_to_in_the_clear(make_caller: MakeCaller, service: Service) -> None:
    with pytest.raises(httpx.TransportError):
        make_caller(url=service.url.replace("http://", "https://"), attempts=1).invoke()
    assert service.received == []


def test_a_pause_that_would_outlast_the_timeout_is_not_begun(make_caller: MakeCaller, service: Service) -> None:
    service.will_answer(problem(503, "unavailable", "come back later", Retry_After="60"))
    started = time.monotonic()
    with pytest.raises(httpx.HTTPStatusError, match="come back later"):
        make_caller(timeout_s=3.0, max_pause_s=5.0).invoke()
    assert time.monotonic() - started < 1.0
