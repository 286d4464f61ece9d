"""A server that neither answers nor refuses: a database, or a vector store."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import pytest

from tests.e2e.calls import UPLOAD_LESSON, answered, invoke, promoted, query, report
from tests.e2e.conftest import StartService
from tests.e2e.service import until
from tests.faults.load import side_by_side, timed
from tests.faults.processes import stopped
from tests.faults.tally import LONG, Count, Tally
from tests.servers.fixtures import require
from tests.servers.mariadb import MariaDbServer
from tests.servers.milvus import MilvusServer
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.faults

TIMEOUT_S, LLM_TIMEOUT_S = 4.0, 1.0
SLACK_S = 1.5
CLIENTS, EACH = (16, 40) if LONG else (8, 8)
#: Who comes first waits 5 s for the index to take a change over, then 5 s for its own search; the rest is slack.
LONGEST_S = 10.0 + 1.5
#: The reconciler comes every 5 s; with 3 failures in a row the store is asked once a second.
RECOVERY_S = 10.0


@pytest.mark.parametrize("kind", [PostgresServer, MariaDbServer], ids=lambda kind: kind.name)
def test_a_database_that_hangs_makes_no_request_late_and_the_service_recovers_when_it_goes_on(
    kind: type[PostgresServer | MariaDbServer], start_service: StartService, tally: Tally
) -> None:
    require(kind)
    with kind() as server:
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
            fault=f"the database hangs (SIGSTOP), {kind.name}",
            trials=len(answers),
            faults=1,
            wrong=len(wrong) + int(recovered > 5 + SLACK_S),
        ),
        wrong,
    )


@pytest.mark.parametrize("kind", [PostgresServer, MilvusServer], ids=lambda kind: kind.name)
def test_a_vector_store_that_hangs_costs_few_requests_anything_and_decisions_made_meanwhile_are_searched_after(
    kind: type[PostgresServer | MilvusServer], start_service: StartService, tally: Tally
) -> None:
    require(kind)
    with kind() as server:
        pgvector = isinstance(server, PostgresServer)
        service = start_service(
            {
                "MG_VECTOR_BACKEND": "pgvector" if pgvector else "milvus",
                "MG_VECTOR_DSN": server.create_database("vectors")
                if isinstance(server, PostgresServer)
                else server.uri,
            }
        )
        with service.client() as client:
            known = promoted(client)
            until(lambda: is_similar(client, known), 60)
            new = answered(client.post("/lessons", json={**UPLOAD_LESSON, "title": "Meanwhile"}), 201)["id"]

            def ask(number: int) -> list[tuple[float, int]]:
                with service.client() as own:
                    if number == 0:
                        return [timed(lambda: own.post(f"/lessons/{new}/approve", json={}))]
                    if number % 2:
                        return [timed(lambda: own.post("/incorporator/invoke", json=query())) for _ in range(EACH)]
                    return [timed(lambda: own.get("/lessons/search", params={"q": "uploads"})) for _ in range(EACH)]

            with stopped(server):
                answers = side_by_side(ask, CLIENTS + 1)
            back = time.monotonic()
            until(lambda: is_similar(client, new), 30)
            recovered = time.monotonic() - back
    calls = [call for one in answers if isinstance(one, list) for call in one]
    wrong: list[object] = [one for one in answers if not isinstance(one, list)]
    wrong += [call for call in calls if call[1] != 200 or call[0] > LONGEST_S]
    slow = [took for took, _ in calls if took > 1]
    if len(slow) > 2 * CLIENTS:
        wrong.append(slow)
    tally.add(
        Count(
            promise="4 Deadlines",
            fault=f"the vector store hangs (SIGSTOP), {kind.name}",
            trials=len(calls),
            faults=1,
            wrong=len(wrong) + int(recovered > RECOVERY_S),
        ),
        (wrong, recovered),
    )


def is_similar(client: httpx.Client, lesson_id: str) -> bool:
    """The vector store knows the lesson."""
    hits = answered(client.get("/lessons/search", params={"q": "uploads"}))
    return any(hit["id"] == lesson_id and hit["similarity"] is not None for hit in hits)
