"""One key, one effect: across processes and engines, also when they come at the same moment or are cut off."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.e2e.calls import UPLOAD_LESSON, answered, promoted, query
from tests.e2e.conftest import StartService
from tests.e2e.service import Service
from tests.faults.audit import Books, all_pages
from tests.faults.conftest import MARIADB, POSTGRES, SQLITE, NewDatabases
from tests.faults.load import side_by_side
from tests.faults.tally import LONG, Count, Tally

pytestmark = pytest.mark.faults

ROUNDS, COPIES = (50, 16) if LONG else (6, 6)


def until_not_in_progress(client: httpx.Client, path: str, body: object, key: str) -> tuple[int, object]:
    """The answer; a 409 says that the first request is under way and when to ask again."""
    end = time.monotonic() + 20
    while True:
        response = client.post(path, json=body, headers={"Idempotency-Key": key})
        if response.status_code not in (409, 503) or time.monotonic() > end:
            return response.status_code, response.json()
        assert "retry-after" in response.headers
        time.sleep(0.05)


@pytest.mark.parametrize("engine", [SQLITE, POSTGRES, MARIADB])
def test_parallel_duplicates_on_two_processes_have_one_effect_and_one_answer_that_later_replays_repeat(
    engine: str, databases: NewDatabases, start_service: StartService, tmp_path: Path, tally: Tally
) -> None:
    env = {**databases(engine), "MG_CATALOG_REFRESH_S": "0.1"}
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
    services = [start_service(env, home=home) for home in homes]
    wrong: list[object] = []
    clients = [services[number % 2].client() for number in range(COPIES)]
    promoted(clients[0])
    until_seen(services[1])
    for turn in range(ROUNDS):
        outcome = {"problem_solving_step_ref": f"step-{turn}", "session_id": "s1", "result_flag": "failure"}
        for path, body in (
            ("/incorporator/invoke", query(f"step-{turn}")),
            ("/incorporator/outcome", outcome),
            ("/lessons", {**UPLOAD_LESSON, "title": f"Injected {turn}"}),
        ):
            key = f"{path}-{turn}"

            def ask(number: int, path: str = path, body: object = body, key: str = key) -> tuple[int, object]:
                return until_not_in_progress(clients[number], path, body, key)

            answers = [*side_by_side(ask, COPIES), ask(0), ask(1)]
            if answers[0][0] not in (200, 201) or any(answer != answers[0] for answer in answers):
                wrong.append((path, answers))
            other = clients[1].post(
                path, json={**body, "session_id": "s9", "title": "x"}, headers={"Idempotency-Key": key}
            )
            if other.status_code != 422:
                wrong.append((path, other.status_code))
    books = Books(clients[0])
    wrong += books.wrong()
    titles = Counter(lesson["title"] for lesson in all_pages(clients[0], "/lessons"))
    twice = [title for title, count in titles.items() if count > 1]
    for one in clients:
        one.close()
    tally.add(
        Count(
            promise="3 Idempotency",
            fault=f"{COPIES} equal requests at once on 2 processes, {engine}",
            trials=3 * ROUNDS,
            faults=3 * ROUNDS * (COPIES + 1),
            lost=ROUNDS - len(books.entries) + ROUNDS + 1 - len(titles),
            duplicated=len(books.duplicated()) + len(twice),
            wrong=len(wrong),
        ),
        wrong,
    )


def until_seen(service: Service) -> None:
    """The other process matches the lesson too."""
    with service.client() as client:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if answered(client.post("/incorporator/match", json=query("seen"))).get("match"):
                return
            time.sleep(0.05)
    time.sleep(1)


@pytest.mark.parametrize("engine", [SQLITE, POSTGRES])
def test_a_kill_at_any_moment_leaves_no_key_blocked_and_no_effect_doubled(
    engine: str, databases: NewDatabases, start_service: StartService, tally: Tally
) -> None:
    service = start_service(databases(engine))
    kills = 12 if LONG else 3
    wrong: list[object] = []
    with service.client() as client:
        promoted(client)
    for kill in range(kills):

        def ask(number: int, kill: int = kill) -> None:
            key = f"{kill}-{number}"
            with service.client() as own:
                own.post("/incorporator/invoke", json=query(key), headers={"Idempotency-Key": key})

        def killer(number: int, kill: int = kill) -> None:
            time.sleep(0.005 * kill)
            service.kill()

        side_by_side(lambda number: killer(number) if number == 0 else ask(number), 9)
        service.start()
        with service.client() as client:
            for number in range(1, 9):
                key = f"{kill}-{number}"
                status, _ = until_not_in_progress(client, "/incorporator/invoke", query(key), key)
                if status != 200:
                    wrong.append((key, status))
    with service.client() as client:
        books = Books(client)
        wrong += books.wrong()
    tally.add(
        Count(
            promise="3 Idempotency",
            fault=f"kill -9 with keyed requests in flight, {engine}",
            trials=8 * kills,
            faults=kills,
            lost=max(0, 8 * kills - len(books.entries)),
            duplicated=len(books.duplicated()),
            wrong=len(wrong),
        ),
        wrong,
    )
