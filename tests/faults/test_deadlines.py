"""Whatever a neighbour does, every request is answered in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import httpx
import pytest

from tests.e2e.calls import answered, failed, invoke, promoted, query, report
from tests.e2e.conftest import StartService
from tests.e2e.http_target import Delivery, RecordingTarget
from tests.e2e.service import until
from tests.fakes.anthropic_stand_in import FOR_EVER, Answer, AnthropicStandIn, error, message
from tests.faults.load import side_by_side
from tests.faults.processes import stopped
from tests.faults.tally import LONG, Count, Tally
from tests.servers.fixtures import require
from tests.servers.postgres import PostgresServer

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


def timed(call: Callable[[], httpx.Response]) -> tuple[float, int]:
    """Seconds that the call took, and its status."""
    start = time.monotonic()
    status = call().status_code
    return time.monotonic() - start, status


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


def test_a_target_that_hangs_makes_no_outcome_late(start_service: StartService, tally: Tally) -> None:
    release = threading.Event()

    def hang(_delivery: Delivery, _number: int) -> int:
        release.wait(30)
        return 200

    with RecordingTarget(hang) as review:
        service = start_service({"MG_HIL_MODE": "http", "MG_HIL_BASE_URL": review.url, "MG_FAILURE_THRESHOLD_X": "1"})
        with service.client() as client:
            promoted(client)
            start = time.monotonic()
            failed(client, REQUESTS)
            took = time.monotonic() - start
            until(lambda: review.deliveries)
        release.set()
    late = int(took > REQUESTS * 0.5)
    tally.add(Count(promise="4 Deadlines", fault="a target hangs", trials=REQUESTS, faults=REQUESTS, wrong=late))


def test_a_database_that_hangs_makes_no_request_late_and_the_service_recovers_when_it_goes_on(
    start_service: StartService, tally: Tally
) -> None:
    require(PostgresServer)
    with PostgresServer() as server:
        service = start_service(
            {
                "MG_TIDB_DSN": server.create_database("lessons"),
                "MG_FEEDBACK_TIDB_DSN": server.create_database("feedback"),
                "MG_REQUEST_TIMEOUT_S": str(TIMEOUT_S),
                "MG_LLM_TIMEOUT_S": str(LLM_TIMEOUT_S),
            }
        )
        with service.client() as client:
            lesson_id = promoted(client)
            invoke(client)
        calls: list[Callable[[httpx.Client], httpx.Response]] = [
            lambda client: client.post("/incorporator/invoke", json=query("while-away")),
            lambda client: client.post(
                "/incorporator/outcome",
                json={"problem_solving_step_ref": "step-17", "session_id": "s1", "result_flag": "success"},
            ),
            lambda client: client.get("/feedback/"),
            lambda client: client.get("/feedback/metrics/usage"),
            lambda client: client.get(f"/lessons/{lesson_id}"),
            lambda client: client.post(f"/lessons/{lesson_id}/disable", json={}),
            lambda client: client.get("/health"),
            lambda client: client.get("/health/ready"),
        ]

        def ask(number: int) -> tuple[float, int]:
            with service.client() as client:
                return timed(lambda: calls[number % len(calls)](client))

        with stopped(server):
            answers = side_by_side(ask, 3 * len(calls))
        back = time.monotonic()
        with service.client() as client:
            until(lambda: client.get("/feedback/").status_code == 200, 15)
            recovered = time.monotonic() - back
            answered(client.get("/feedback/metrics/usage"))
            report(client)
    wrong: list[object] = [one for one in answers if not isinstance(one, tuple)]
    wrong += [one for one in answers if isinstance(one, tuple) and one[0] > TIMEOUT_S + SLACK_S]
    wrong += [one for one in answers if isinstance(one, tuple) and one[1] not in (200, 503, 504)]
    assert not wrong, wrong
    tally.add(
        Count(
            promise="4 Deadlines",
            fault="PostgreSQL hangs (SIGSTOP)",
            trials=len(answers),
            faults=1,
            wrong=len(wrong) + int(recovered > 5 + SLACK_S),
        ),
        wrong,
    )
