"""SIGTERM is no fault to those who are being served."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import msgspec
import pytest

from tests.e2e.calls import promoted, query
from tests.e2e.service import Service, until
from tests.fakes.anthropic_stand_in import FOR_EVER, Answer, AnthropicStandIn, message
from tests.faults.audit import all_pages
from tests.faults.load import side_by_side
from tests.faults.processes import ServedByCommand
from tests.faults.tally import Count, Tally

pytestmark = pytest.mark.faults

NAMES: dict[type[Service], str] = {Service: "uvicorn", ServedByCommand: "memorygrid serve"}


@pytest.mark.parametrize(("kind", "status"), [(Service, -signal.SIGTERM), (ServedByCommand, 0)])
def test_requests_in_flight_are_finished_after_sigterm(
    kind: type[Service], status: int, tmp_path: Path, tally: Tally
) -> None:
    """uvicorn ends by the signal itself once it is done, `memorygrid serve` with status 0."""
    with AnthropicStandIn() as model:
        model.will(msgspec.structs.replace(message("{}"), delay_s=2.0))
        service = kind(
            tmp_path,
            {
                "MG_MATCH_STRATEGY_MODE": "llm_only",
                "MG_FALLBACK_MIN_SIMILARITY": "0",
                "ANTHROPIC_API_KEY": "a-key-for-the-stand-in",
                "ANTHROPIC_BASE_URL": model.url,
            },
        )
        service.write_rules([])

        def ask(number: int) -> int:
            if number == 0:
                until(lambda: len(model.requests) >= 4)
                return service.stop(60)
            with service.client() as client:
                return client.post("/incorporator/invoke", json=query(f"step-{number}")).status_code

        try:
            service.start()
            with service.client() as client:
                promoted(client)
            ended, *statuses = side_by_side(ask, 5)
            service.start()
            with service.client() as client:
                entries = all_pages(client, "/feedback/")
        finally:
            service.kill()
    wrong = [one for one in [*statuses, ended] if one not in (200, status)]
    tally.add(
        Count(
            promise="6 Recovery",
            fault=f"SIGTERM with requests in flight, {NAMES[kind]}",
            trials=4,
            faults=1,
            lost=4 - len(entries),
            wrong=len(wrong),
        ),
        (ended, statuses),
    )


def test_a_request_that_does_not_end_holds_up_the_end_of_the_service_for_ten_seconds(
    tmp_path: Path, tally: Tally
) -> None:
    with AnthropicStandIn() as model:
        model.will(Answer(delay_s=FOR_EVER))
        service = ServedByCommand(
            tmp_path,
            {
                "MG_MATCH_STRATEGY_MODE": "llm_only",
                "MG_REQUEST_TIMEOUT_S": "60",
                "MG_LLM_TIMEOUT_S": "50",
                "ANTHROPIC_API_KEY": "a-key-for-the-stand-in",
                "ANTHROPIC_BASE_URL": model.url,
            },
        )
        service.write_rules([])

        def ask(number: int) -> float | int:
            if number == 0:
                until(lambda: model.requests)
                start = time.monotonic()
                service.stop(40)
                return time.monotonic() - start
            with service.client() as client:
                return client.post("/incorporator/invoke", json=query()).status_code

        try:
            service.start()
            with service.client() as client:
                promoted(client)
            took, answer = side_by_side(ask, 2)
        finally:
            service.kill()
    tally.add(
        Count(
            promise="6 Recovery",
            fault="SIGTERM with a request that hangs, memorygrid serve",
            trials=1,
            faults=1,
            wrong=int(not 8 < took < 14) + (answer == 200),
        ),
        (took, answer),
    )
