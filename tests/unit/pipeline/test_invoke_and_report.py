from __future__ import annotations

from datetime import datetime, timezone
from uuid import UUID

import httpx
import pytest

from memorygrid_incorporator.pipeline.incorporator_hook import SyncIncorporatorHookClient
from tests.unit.pipeline.callers import QUERY, Caller
from tests.unit.pipeline.conftest import MakeCaller
from tests.unit.pipeline.service import NO_MATCH, OUTCOME, Answer, Service, problem


def test_invoke_posts_the_documented_body(caller: Caller, service: Service) -> None:
    caller.invoke()
    (request,) = service.received
    assert request.path == "/incorporator/invoke"
    assert request.body == QUERY
    assert request.headers["content-type"] == "application/json"


def test_invoke_answers_the_outcome_and_ignores_fields_it_does_not_know(caller: Caller) -> None:
    outcome = caller.invoke()
    assert (outcome.id, outcome.source, outcome.action) == ("outcome-1", "dsl", "retry_with_backoff")
    assert outcome.instruction == "Retry upload report.pdf with backoff"
    assert outcome.recommended_action_payload == {"dsl_payload": {"action": "retry_with_backoff"}}
    assert outcome.match_result.confidence == 1.0
    assert outcome.match_result.raw_payload["title"] == "Retry uploads"
    assert outcome.match_result.usage is None
    assert outcome.created_at == datetime(2026, 10, 22, 10, tzinfo=timezone.utc)


def test_an_outcome_whose_moment_has_no_time_zone_is_refused(caller: Caller, service: Service) -> None:
    service.will_answer(Answer(body={**OUTCOME, "created_at": "2026-10-22T10:00:00"}))
    with pytest.raises(httpx.DecodingError, match="created_at"):
        caller.invoke()


@pytest.mark.parametrize(("succeeded", "flag"), [(True, "success"), (False, "failure")])
def test_report_outcome_posts_the_documented_body(caller: Caller, service: Service, succeeded: bool, flag: str) -> None:
    caller.report(succeeded)
    (request,) = service.received
    assert request.path == "/incorporator/outcome"
    assert request.body == {"problem_solving_step_ref": "step-17", "session_id": "s1", "result_flag": flag}


def test_report_outcome_says_which_selection_and_what_went_wrong(caller: Caller, service: Service) -> None:
    caller.report(False, outcome_id="outcome-1", failure_class="infrastructure", detail={"exit_code": 7})
    (body,) = service.reports()
    assert body["outcome_id"] == "outcome-1"
    assert body["failure_class"] == "infrastructure"
    assert body["detail"] == {"exit_code": 7}


def test_report_outcome_answers_the_updated_entry(caller: Caller) -> None:
    entry = caller.report(False)
    assert (entry.result_flag, entry.usage_count, entry.failures_seen) == ("failure", 2, 3)
    assert (entry.review_round, entry.failure_class) == (1, "lesson")
    assert entry.timestamp == datetime(2026, 10, 22, 10, 0, 0, 123456, tzinfo=timezone.utc)


def test_every_call_has_an_idempotency_key_of_its_own(caller: Caller, service: Service) -> None:
    caller.invoke()
    caller.invoke()
    caller.report(True)
    assert {UUID(key).version for key in service.idempotency_keys()} == {4}
    assert len(set(service.idempotency_keys())) == 3


def test_a_base_url_may_have_a_prefix_and_end_with_a_slash(make_caller: MakeCaller, service: Service) -> None:
    make_caller(url=f"{service.url}/memory/").invoke()
    assert service.received[0].path == "/memory/incorporator/invoke"


def test_no_match_raises_with_status_404_and_the_services_explanation(caller: Caller, service: Service) -> None:
    service.will_answer(NO_MATCH)
    with pytest.raises(httpx.HTTPStatusError, match="no promoted lesson applies to this problem") as caught:
        caller.invoke()
    assert caught.value.response.status_code == 404
    assert len(service.received) == 1


def test_no_match_is_the_given_value_where_the_caller_gives_one(caller: Caller, service: Service) -> None:
    service.will_answer(NO_MATCH)
    assert caller.invoke_or_none() is None
    assert caller.invoke_or_none() is not None


@pytest.mark.parametrize("answer", [Answer(status=404, body=b"<h1>Not Found</h1>"), problem(404, "not-found")])
def test_a_404_from_a_wrong_address_is_never_taken_for_no_match(
    caller: Caller, service: Service, answer: Answer
) -> None:
    service.will_answer(answer)
    with pytest.raises(httpx.HTTPStatusError):
        caller.invoke_or_none()


def test_an_error_names_the_call_and_the_status_and_bounds_the_explanation(caller: Caller, service: Service) -> None:
    service.will_answer(problem(400, "invalid-input", "x" * 10_000))
    with pytest.raises(httpx.HTTPStatusError) as caught:
        caller.invoke()
    assert str(caught.value).startswith(f"400 Bad Request from POST {service.url}/incorporator/invoke: xxx")
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("body", [b"<html>", b"\xff\xfe", b"[]", b"{}", b""])
def test_an_answer_that_is_not_the_documented_one_is_a_decoding_error(
    caller: Caller, service: Service, body: bytes
) -> None:
    service.will_answer(Answer(body=body))
    with pytest.raises(httpx.DecodingError, match="answered no ApplierOutcome"):
        caller.invoke()


@pytest.mark.parametrize("body", [b"<html>", b"\xff\xfe", b"[]", b'{"detail": 7}', b""])
def test_an_error_without_a_readable_problem_still_raises_its_status(
    caller: Caller, service: Service, body: bytes
) -> None:
    service.will_answer(Answer(status=500, body=body))
    with pytest.raises(httpx.HTTPStatusError, match="500 Internal Server Error"):
        caller.report(True)


def test_a_redirect_is_an_error_and_not_followed(caller: Caller, service: Service) -> None:
    service.will_answer(Answer(status=307, headers={"Location": "/elsewhere"}))
    with pytest.raises(httpx.HTTPStatusError, match="307"):
        caller.invoke()
    assert len(service.received) == 1


def test_a_closed_client_without_an_event_loop_says_so_as_httpx_does(service: Service) -> None:
    with SyncIncorporatorHookClient(service.url) as hook:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        hook.invoke(**QUERY)
