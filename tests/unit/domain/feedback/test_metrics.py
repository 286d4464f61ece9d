"""Counters and rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.feedback.entry import FailureClass, FeedbackEntry, OutcomeReport, ResultFlag, reported
from domain.feedback.metrics import Counters, Usage, counted, total, usage
from tests.fakes.clock import START
from tests.fakes.examples import entry, failed_entry, report

REPORTS = st.lists(
    st.builds(report, st.sampled_from(ResultFlag), failure_class=st.sampled_from(FailureClass)), max_size=20
)


def test_the_documented_example() -> None:
    counters = Counters(usage_count=6, success=2, failure=1)
    assert usage(counters) == Usage(
        usage_count=6, success=2, failure=1, pending=0, success_rate=0.667, failure_rate=0.333
    )


def test_without_a_decided_entry_there_is_no_rate() -> None:
    found = usage(Counters(usage_count=3, pending=3))
    assert (found.success_rate, found.failure_rate) == (None, None)


@pytest.mark.parametrize(("success", "failure", "rate"), [(0, 5, 0.0), (5, 0, 1.0), (1, 7, 0.125), (1, 6, 0.143)])
def test_rates_are_of_the_decided_entries_rounded_to_three_places(success: int, failure: int, rate: float) -> None:
    found = usage(Counters(usage_count=100, success=success, failure=failure, pending=50))
    assert found.success_rate == rate
    assert found.failure_rate == round(1 - rate, 3)


def test_an_entry_counts_for_its_flag_and_its_usage() -> None:
    assert counted(entry()) == Counters(usage_count=1, pending=1)
    assert counted(entry(result_flag=ResultFlag.SUCCESS, usage_count=4)) == Counters(usage_count=4, success=1)
    assert counted(failed_entry(1)) == Counters(usage_count=2, failure=1, lesson_failures=1)


def test_a_failure_of_the_infrastructure_does_not_count_towards_escalation() -> None:
    failed = failed_entry(1, failure_class=FailureClass.INFRASTRUCTURE)
    assert counted(failed) == Counters(usage_count=2, failure=1)


def test_totals() -> None:
    assert total([]) == Counters()
    assert total([counted(entry()), counted(failed_entry(1)), Counters(success=2)]) == Counters(
        usage_count=3, success=2, failure=1, pending=1, lesson_failures=1
    )


@given(REPORTS)
def test_moving_the_counters_with_each_report_equals_a_recount(reports: list[OutcomeReport]) -> None:
    one: FeedbackEntry = entry()
    counters = counted(one)
    for each in reports:
        after = reported(one, each, at=START)
        counters = counters + (counted(after) - counted(one))
        one = after
    assert counters == counted(one)
    assert counters.usage_count == 1 + len(reports)
    assert counters.success + counters.failure + counters.pending == 1
