"""An entry and its reports."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from domain.feedback.entry import FailureClass, OutcomeReport, ResultFlag, reported
from tests.fakes.clock import START
from tests.fakes.examples import entry, failed_entry, report

LATER = START + timedelta(hours=1)


def test_a_report_counts_once_and_sets_the_flag() -> None:
    after = reported(entry(), report(ResultFlag.SUCCESS, detail={"why": "it worked"}), at=LATER)
    assert after == entry(result_flag=ResultFlag.SUCCESS, usage_count=2, updated_at=LATER, detail={"why": "it worked"})


def test_a_reports_number_is_one_less_than_the_usage_count() -> None:
    once = reported(entry(), report(), at=LATER)
    assert (entry().report_number, once.report_number) == (0, 1)
    assert reported(once, report(), at=LATER).report_number == 2


@pytest.mark.parametrize("of", FailureClass)
def test_only_a_failure_has_a_class(of: FailureClass) -> None:
    assert reported(entry(), report(ResultFlag.FAILURE, failure_class=of), at=LATER).failure_class is of
    for flag in (ResultFlag.SUCCESS, ResultFlag.PENDING):
        assert reported(failed_entry(3), report(flag, failure_class=of), at=LATER).failure_class is None


def test_a_failure_is_the_lessons_unless_the_report_says_otherwise() -> None:
    body = {"problem_solving_step_ref": "step-17", "session_id": "s1", "result_flag": "failure"}
    read = msgspec.convert(body, OutcomeReport)
    assert (read.failure_class, read.outcome_id, read.detail) == (FailureClass.LESSON, None, None)


@pytest.mark.parametrize(
    "wrong",
    [{"result_flag": "maybe"}, {"session_id": ""}, {"failure_class": "other"}, {"problem_solving_step_ref": "\n"}],
)
def test_a_report_of_another_shape_is_refused(wrong: dict[str, str]) -> None:
    body = {"problem_solving_step_ref": "step-17", "session_id": "s1", "result_flag": "failure", **wrong}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, OutcomeReport)
