"""Whatever a neighbour does, every request is answered in time."""

from __future__ import annotations

import httpx
import pytest

from tests.e2e.calls import answered, invoke, promoted, query
from tests.e2e.conftest import StartService
from tests.e2e.http_target import RecordingTarget, delivering_to
from tests.e2e.service import until
from tests.fakes.anthropic_stand_in import FOR_EVER, Answer, AnthropicStandIn, error, message
from tests.faults.audit import all_pages
from tests.faults.load import timed
from tests.faults.tally import LONG, Count, Tally

pytestmark = pytest.mark.faults

TIMEOUT_S, LLM_TIMEOUT_S = 4.0, 1.0
SLACK_S = 1.5
REQUESTS = 64 if LONG else 12

MISBEHAVIOURS: dict[str, Answer | None] = {
    "hangs": Answer(delay_s=FOR_EVER),
    "drips": Answer(body=b"x" * 10_000, drip_s=0.2),
    "answers garbage": Answer(body=b"\x00\xff<html>", headers={"content-type": "application/json"}),
    "says anything": message("the lesson to apply is: all of them"),
    "asks to come back in an hour": error(429, retry_after="3600"),
    "hangs up": None,
}


@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS)
def test_a_model_that_misbehaves_makes_no_request_late_and_a_dead_one_does_not_cost_each_its_time_limit(
    misbehaviour: str, start_service: StartService, tally: Tally
) -> None:
    with AnthropicStandIn() as model:
        model.will(message("{}"))
        service = start_service(
            {
                "MG_MATCH_STRATEGY_MODE": "llm_only",
                "MG_FALLBACK_MIN_SIMILARITY": "0",
                "MG_REQUEST_TIMEOUT_S": str(TIMEOUT_S),
                "MG_LLM_TIMEOUT_S": str(LLM_TIMEOUT_S),
                "ANTHROPIC_API_KEY": "a-key-for-the-stand-in",
                "ANTHROPIC_BASE_URL": model.url,
            }
        )
        with service.client() as client:
            promoted(client)
            until(lambda: invoke(client, "warm-up") and model.requests, 90)  # the SDK is imported with the first call
            model.will(MISBEHAVIOURS[misbehaviour])
            asked_before = len(model.requests)
            one_by_one = [
                timed(lambda step=step: client.post("/incorporator/invoke", json=query(f"{step}")))  # type: ignore[misc]
                for step in range(REQUESTS)
            ]

    late = [took for took, _ in one_by_one if took > TIMEOUT_S + SLACK_S]
    wrong = [status for _, status in one_by_one if status != 200]
    dead = misbehaviour in ("hangs", "drips", "hangs up")
    # Five failures open the circuit; what comes after does not wait for the model.
    waited = [took for took, _ in one_by_one[7:] if dead and took > LLM_TIMEOUT_S]
    tally.add(
        Count(
            promise="4 Deadlines",
            fault=f"the language model {misbehaviour}",
            trials=REQUESTS,
            faults=len(model.requests) - asked_before,
            wrong=len(late) + len(wrong) + len(waited),
        ),
        one_by_one,
    )


TARGETS: dict[str, Answer | None] = {
    "hangs": Answer(delay_s=FOR_EVER),
    "drips": Answer(status=503, body=b"x" * 10_000, drip_s=0.2),
    "asks to come back in an hour": error(429, retry_after="3600"),
    "hangs up": None,
}


@pytest.mark.parametrize("misbehaviour", TARGETS)
def test_a_target_that_misbehaves_delays_neither_an_outcome_nor_another_target_and_gets_its_deliveries_later(
    misbehaviour: str, start_service: StartService, tally: Tally
) -> None:
    with AnthropicStandIn() as review, RecordingTarget() as engine:  # it answers as it is told, whoever asks
        review.will(TARGETS[misbehaviour])
        service = start_service(delivering_to(review=review.url, engine=engine.url))
        with service.client() as client:
            promoted(client)
            for step in range(REQUESTS):
                invoke(client, f"step-{step}")
            outcomes = [timed(lambda step=step: _reported(client, step)) for step in range(REQUESTS)]  # type: ignore[misc]
            until(lambda: len(engine.deliveries) == REQUESTS, 5)
            until(lambda: review.requests)
            review.will(Answer())
            until(lambda: not answered(client.get("/escalations", params={"state": "pending"})), 60)
            rows = all_pages(client, "/escalations")
    late = [one for one in outcomes if one[0] > 1]
    wrong = [one for one in outcomes if one[1] != 200] + [one for one in rows if one["state"] != "delivered"]
    keys = {request.headers["idempotency-key"] for request in review.requests}
    tally.add(
        Count(
            promise="4 Deadlines",
            fault=f"a target {misbehaviour}",
            trials=REQUESTS,
            faults=len(review.requests) - REQUESTS,
            lost=2 * REQUESTS - len(rows) + REQUESTS - len(keys),
            duplicated=len(engine.deliveries) - REQUESTS,
            wrong=len(late) + len(wrong),
        ),
        (outcomes, wrong),
    )


def _reported(client: httpx.Client, step: int) -> httpx.Response:
    body = {"problem_solving_step_ref": f"step-{step}", "session_id": "s1", "result_flag": "failure"}
    return client.post("/incorporator/outcome", json=body)
