from __future__ import annotations

import logging
from contextlib import ExitStack

import pytest

from adapters.circuit_breaker import CircuitBreaker
from domain.errors import LlmUnavailable


class Time:
    """A clock that a test moves on by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def circuit(time: Time) -> CircuitBreaker:
    """Opens for 10 s after 3 failures."""
    return CircuitBreaker("The language model", LlmUnavailable, threshold=3, open_s=10.0, clock=time)


def fail(circuit: CircuitBreaker, times: int = 1) -> None:
    for _ in range(times):
        with circuit.call() as call:
            call.failed("It said 500.")


def succeed(circuit: CircuitBreaker) -> None:
    with circuit.call() as call:
        call.succeeded()


def test_it_opens_after_so_many_failures_in_a_row_and_then_lets_no_call_go(circuit: CircuitBreaker) -> None:
    fail(circuit, 2)
    assert circuit.problem() is None
    fail(circuit)
    with pytest.raises(LlmUnavailable) as refused, circuit.call():
        pytest.fail("The call went.")
    assert refused.value.detail == circuit.problem()


def test_the_problem_names_the_failures_the_time_left_and_the_last_reason(circuit: CircuitBreaker, time: Time) -> None:
    fail(circuit, 3)
    time.now_s = 4.0
    assert (
        circuit.problem() == "The language model failed 3 times in a row and is left alone for 6.0 s more. It said 500."
    )


def test_a_success_in_between_starts_the_count_anew(circuit: CircuitBreaker) -> None:
    for _ in range(3):
        fail(circuit, 2)
        succeed(circuit)
    assert circuit.problem() is None


def test_half_open_it_lets_one_call_go_at_a_time(circuit: CircuitBreaker, time: Time) -> None:
    fail(circuit, 3)
    time.now_s = 10.0
    assert circuit.problem() is None
    with circuit.call():
        assert "is being tried again" in (circuit.problem() or "")
        with pytest.raises(LlmUnavailable), circuit.call():
            pytest.fail("The call went.")


def test_a_trial_that_succeeds_closes_it(circuit: CircuitBreaker, time: Time) -> None:
    fail(circuit, 3)
    time.now_s = 10.0
    succeed(circuit)
    fail(circuit, 2)
    assert circuit.problem() is None


def test_a_trial_that_fails_opens_it_again_at_once(circuit: CircuitBreaker, time: Time) -> None:
    fail(circuit, 3)
    time.now_s = 10.0
    fail(circuit)
    time.now_s = 19.9
    assert circuit.problem() is not None
    time.now_s = 20.0
    assert circuit.problem() is None


def test_a_trial_whose_end_is_never_said_gives_way_to_the_next(circuit: CircuitBreaker, time: Time) -> None:
    fail(circuit, 3)
    time.now_s = 10.0
    with pytest.raises(KeyboardInterrupt), circuit.call():
        raise KeyboardInterrupt
    assert circuit.problem() is None
    succeed(circuit)
    assert circuit.problem() is None


def test_calls_whose_end_is_never_said_count_neither_way(circuit: CircuitBreaker) -> None:
    fail(circuit, 2)
    with circuit.call():
        pass
    assert circuit.problem() is None
    fail(circuit)
    assert circuit.problem() is not None


def test_failures_of_calls_that_set_out_before_it_opened_do_not_keep_it_open(
    circuit: CircuitBreaker, time: Time
) -> None:
    with ExitStack() as under_way:
        late = under_way.enter_context(circuit.call())
        fail(circuit, 3)
        time.now_s = 9.0
        late.failed("It timed out.")
    time.now_s = 10.0
    assert circuit.problem() is None


def test_a_success_of_a_call_that_set_out_before_it_opened_closes_it(circuit: CircuitBreaker) -> None:
    with circuit.call() as late:
        fail(circuit, 3)
        late.succeeded()
    assert circuit.problem() is None


def test_a_failed_trial_counts_as_one_failure_where_another_call_has_closed_it(
    circuit: CircuitBreaker, time: Time
) -> None:
    with ExitStack() as trial, circuit.call() as late:
        fail(circuit, 3)
        time.now_s = 10.0
        trial.enter_context(circuit.call()).failed("It timed out.")
        late.succeeded()
    assert circuit.problem() is None


def test_it_logs_when_it_opens_and_when_it_closes(
    circuit: CircuitBreaker, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="adapters.circuit_breaker")
    fail(circuit, 3)
    time.now_s = 10.0
    succeed(circuit)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "The language model failed 3 times in a row and is left alone for 10 s. It said 500."),
        ("INFO", "The language model answers again."),
    ]
