"""An outcome is reported whatever its detail holds, and what was wrong with that is told with its place."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import httpx
import pytest

from tests.unit.pipeline.callers import Caller
from tests.unit.pipeline.service import DROPPED, Service, problem

CIRCULAR: dict[str, object] = {}
CIRCULAR["again"] = CIRCULAR


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Unreadable(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise Mute

    def __len__(self) -> int:
        return 1


def reports_of_both_ways(caller: Caller, service: Service, detail: Mapping[str, object]) -> list[dict[str, object]]:
    caller.step(lambda step: step.fail(detail=detail))
    caller.report(False, outcome_id="outcome-1", detail=detail)
    return service.reports()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (float("nan"), "detail.value is nan: JSON has no such number"),
        ([1, {"load": float("inf")}], "detail.value[1].load is inf"),
        ([10**5000], "detail.value[0] is a number beyond a double"),
        (object(), "detail.value is an object of type object, which JSON has no form for"),
        ({(1, 2): "a pair"}, "a key of detail.value is (1, 2)"),
        ({1: "a", "1": "b"}, "detail.value has two keys that are both '1' in JSON"),
    ],
)
def test_what_cannot_be_sent_of_a_detail_is_named_in_its_place_and_logged_and_all_else_is_sent(
    caller: Caller, service: Service, caplog: pytest.LogCaptureFixture, wrong: object, said: str
) -> None:
    for report in reports_of_both_ways(caller, service, {"exit_code": 7, "value": wrong}):
        assert report["result_flag"] == "failure"
        assert isinstance(report["detail"], dict)
        assert report["detail"]["exit_code"] == 7
        assert f"not sent: {said}" in str(report["detail"])
    told = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert len(told) == 2
    assert all(one.startswith("the detail of step 'step-17' in session 's1'") and said in one for one in told)


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        (CIRCULAR, "detail holds itself, or is nested too deeply"),
        ({(1, 2): "a pair"}, "a key of detail is (1, 2)"),
        (Unreadable(), "detail cannot be read"),
        ("no mapping", "detail is of type str, and must be a mapping"),
    ],
)
def test_a_detail_of_which_nothing_can_be_sent_is_replaced_by_the_reason(
    caller: Caller, service: Service, caplog: pytest.LogCaptureFixture, detail: Mapping[str, object], said: str
) -> None:
    for report in reports_of_both_ways(caller, service, detail):
        assert isinstance(report["detail"], dict)
        assert report["detail"]["not_sent"].startswith(said)
    assert caplog.text.count(said) == 2


def test_texts_in_a_detail_are_cleaned_as_those_of_errors_are(
    caller: Caller, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = reports_of_both_ways(caller, service, {"stderr": "nul \0 half \ud800", "k\0\ud800": ["\0"]})
    mark = "\N{REPLACEMENT CHARACTER}"
    assert first["detail"] == second["detail"] == {"stderr": f"nul {mark} half ?", f"k{mark}?": [mark]}
    assert caplog.records == []


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_detail_that_the_service_refuses_is_replaced_by_its_reason_under_the_same_key(
    caller: Caller, service: Service, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    service.will_answer(problem(status, "invalid", "the body is too large"), DROPPED)
    caller.report(False, outcome_id="outcome-1", detail={"log": "x" * 5000})
    assert [report["detail"] for report in service.reports()[1:]] == [
        {"not_sent": "the service refused a report with the detail: the body is too large"}
    ] * 2
    assert len(set(service.idempotency_keys())) == 1
    assert "the service refused a report with the detail: the body is too large" in caplog.text


def test_a_step_whose_detail_is_refused_has_reported(caller: Caller, service: Service) -> None:
    def block(step: object) -> None:
        service.will_answer(problem(413, "too-large", "the body is too large"))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        caller.step(block)
    assert [report["result_flag"] for report in service.reports()] == ["failure"] * 2


@pytest.mark.parametrize(("status", "detail"), [(400, None), (404, {"a": 1}), (500, {"a": 1})])
def test_a_refusal_that_is_not_about_a_detail_is_final(
    caller: Caller, service: Service, status: int, detail: Mapping[str, object] | None
) -> None:
    service.will_answer(problem(status, "invalid", "no such thing"))
    with pytest.raises(httpx.HTTPStatusError, match="no such thing"):
        caller.report(False, detail=detail)
    assert len(service.reports()) == 1


def test_a_report_that_is_refused_without_its_detail_too_raises_that(caller: Caller, service: Service) -> None:
    service.will_answer(*[problem(400, "invalid", "failure_class is wrong")] * 2)
    with pytest.raises(httpx.HTTPStatusError, match="failure_class is wrong"):
        caller.report(False, detail={"a": 1})
    assert len(service.reports()) == 2
