from __future__ import annotations

import logging
from typing import NoReturn

import httpx
import pytest

from memorygrid_incorporator.pipeline.incorporator_hook import Step
from tests.unit.pipeline.callers import QUERY, Caller
from tests.unit.pipeline.service import DROPPED, NO_MATCH, Service, problem

SELECTION = {"problem_solving_step_ref": "step-17", "session_id": "s1", "outcome_id": "outcome-1"}


def nothing(step: Step) -> None:
    """A block that ends well."""


def refuse(step: Step) -> NoReturn:
    raise ValueError("the disk is full")


def test_a_step_asks_for_a_lesson_and_hands_it_to_the_block(caller: Caller, service: Service) -> None:
    seen: list[str] = []
    caller.step(lambda step: seen.append(step.outcome.action if step.outcome else ""))
    assert seen == ["retry_with_backoff"]
    assert service.received[0].body == QUERY


def test_a_block_that_ends_has_succeeded_with_exactly_this_selection(caller: Caller, service: Service) -> None:
    caller.step(nothing)
    assert service.reports() == [{**SELECTION, "result_flag": "success"}]


def test_a_block_that_raises_has_failed_and_its_error_goes_on(caller: Caller, service: Service) -> None:
    with pytest.raises(ValueError, match="the disk is full"):
        caller.step(refuse)
    assert service.reports() == [
        {**SELECTION, "result_flag": "failure", "detail": {"error": "ValueError: the disk is full"}}
    ]


def test_the_reported_error_is_bounded_and_holds_no_character_that_is_refused(caller: Caller, service: Service) -> None:
    def block(step: Step) -> NoReturn:
        raise ValueError("nul \0 surrogate \ud800 " + "x" * 10_000)

    with pytest.raises(ValueError, match="nul"):
        caller.step(block)
    (report,) = service.reports()
    assert isinstance(report["detail"], dict)
    assert report["detail"]["error"].startswith("ValueError: nul \N{REPLACEMENT CHARACTER} surrogate ? xxx")
    assert len(report["detail"]["error"]) == 500


def test_an_error_that_cannot_even_be_printed_is_reported(caller: Caller, service: Service) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def block(step: Step) -> NoReturn:
        raise Mute

    with pytest.raises(Mute):
        caller.step(block)
    assert service.reports()[0]["result_flag"] == "failure"


def test_a_block_can_say_that_it_failed_without_raising(caller: Caller, service: Service) -> None:
    caller.step(lambda step: step.fail(failure_class="infrastructure", detail={"exit_code": 7}))
    assert service.reports() == [
        {**SELECTION, "result_flag": "failure", "failure_class": "infrastructure", "detail": {"exit_code": 7}}
    ]


def test_a_block_can_say_that_it_succeeded_before_it_raises(caller: Caller, service: Service) -> None:
    def block(step: Step) -> NoReturn:
        step.succeed()
        refuse(step)

    with pytest.raises(ValueError, match="the disk is full"):
        caller.step(block)
    assert service.reports() == [{**SELECTION, "result_flag": "success"}]


def test_the_last_word_of_a_block_holds(caller: Caller, service: Service) -> None:
    def block(step: Step) -> None:
        step.fail(detail={"attempt": 1})
        step.succeed()

    caller.step(block)
    assert service.reports() == [{**SELECTION, "result_flag": "success"}]


@pytest.mark.parametrize("block", [nothing, refuse, Step.fail, Step.succeed])
def test_where_no_lesson_applies_the_block_runs_and_nothing_is_reported(
    caller: Caller, service: Service, block: object
) -> None:
    service.will_answer(NO_MATCH)
    seen: list[object] = []

    def watched(step: Step) -> None:
        seen.append(step.outcome)
        if callable(block):
            block(step)

    try:
        caller.step(watched)
    except ValueError:
        assert block is refuse
    assert seen == [None]
    assert service.reports() == []


def test_a_step_whose_lesson_cannot_be_asked_for_does_not_begin(caller: Caller, service: Service) -> None:
    service.will_answer(problem(500, "internal"))
    seen: list[Step] = []
    with pytest.raises(httpx.HTTPStatusError):
        caller.step(seen.append)
    assert seen == []
    assert service.reports() == []


def test_a_report_that_fails_after_a_good_block_is_raised(caller: Caller, service: Service) -> None:
    def block(step: Step) -> None:
        service.will_answer(problem(404, "no-selection", "this selection was pruned"))

    with pytest.raises(httpx.HTTPStatusError, match="this selection was pruned"):
        caller.step(block)


def test_a_report_that_fails_never_hides_the_blocks_own_error(
    caller: Caller, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    def block(step: Step) -> NoReturn:
        service.will_answer(*[DROPPED] * 4)
        refuse(step)

    with caplog.at_level(logging.WARNING), pytest.raises(ValueError, match="the disk is full"):
        caller.step(block)
    assert "the failure of step 'step-17' in session 's1' was not reported" in caplog.text


def test_a_detail_that_is_not_json_hides_neither_the_outcome_nor_the_blocks_own_error(
    caller: Caller, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    def block(step: Step) -> NoReturn:
        step.fail(detail={"thing": object()})
        refuse(step)

    with caplog.at_level(logging.WARNING), pytest.raises(ValueError, match="the disk is full"):
        caller.step(block)
    (report,) = service.reports()
    assert report["result_flag"] == "failure"
    assert "detail.thing is an object of type object" in caplog.text
