"""The server of one of the two databases is stopped while the other one goes on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.calls import answered, invoke, promoted, query
from tests.e2e.conftest import StartService
from tests.e2e.service import LEARNER, until
from tests.faults.audit import Books, all_pages
from tests.faults.load import Load, side_by_side
from tests.faults.tally import LONG, Count, Tally
from tests.servers.fixtures import require
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.faults

PROMISE = "5 Two databases, one story"
FAILURES, STEPS, CLIENTS = (200, 1_000, 32) if LONG else (24, 120, 8)
EVENTS = {"runtime_failure_flagged": "human", "runtime_failure_disabled": "auto"}
#: A report waits 2 s for its effects.
REPORT_S = 3.5


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    require(PostgresServer)
    with PostgresServer() as running:
        yield running


class Ends:
    """How the escalations of a lesson ended, against its log."""

    def __init__(self, client: httpx.Client, lesson_id: str) -> None:
        self.rows = all_pages(client, "/escalations", lesson_skill_id=lesson_id)
        self.log = all_pages(client, f"/lessons/{lesson_id}/log")
        self._effects = Counter(
            (one["detail"]["feedback_entry_id"], EVENTS[one["event"]]) for one in self.log if one["event"] in EVENTS
        )

    def states(self, entries: list[str], path: str) -> set[str]:
        """Of what these entries owed along the path."""
        owing = set(entries)
        return {one["state"] for one in self.rows if one["feedback_entry_id"] in owing and one["path"] == path}

    def lost(self, due: set[tuple[str, str]]) -> int:
        return len(due - {(one["feedback_entry_id"], one["path"]) for one in self.rows})

    def duplicated(self) -> int:
        """Rows and effects beyond one for each failure and path."""
        rows = Counter((one["feedback_entry_id"], one["path"]) for one in self.rows)
        return sum(count - 1 for counts in (rows, self._effects) for count in counts.values())

    def wrong(self, due: set[tuple[str, str]]) -> list[object]:
        """Rows that nothing made due, or whose state is not what the lesson's log tells."""
        found: list[object] = []
        for one in self.rows:
            about = (one["feedback_entry_id"], one["path"])
            state = "delivered" if self._effects[about] else "superseded"
            if about not in due or one["state"] != state:
                found.append(one)
        return [*found, *(self._effects.keys() - due)]


def none_is_pending(client: httpx.Client) -> bool:
    return not answered(client.get("/escalations", params={"state": "pending"}))


def failed_at_once(client: httpx.Client, steps: list[str]) -> tuple[list[str], list[object]]:
    """Reports a failure of each step, `CLIENTS` at once: the entries' ids, and what went wrong."""
    wrong: list[object] = []
    told: list[str] = []

    def report(number: int) -> None:
        for step in steps[number::CLIENTS]:
            body = {"problem_solving_step_ref": step, "session_id": "s1", "result_flag": "failure"}
            start = time.monotonic()
            response = client.post("/incorporator/outcome", json=body)
            if response.status_code == 200 and time.monotonic() - start < REPORT_S:
                told.append(response.json()["id"])
            else:
                wrong.append((step, response.status_code, time.monotonic() - start))

    side_by_side(report, CLIENTS)
    return told, wrong


def test_feedback_is_recorded_while_the_object_store_is_stopped_and_what_it_owes_is_delivered_or_superseded_after(
    start_service: StartService, server: PostgresServer, tally: Tally
) -> None:
    store = {"MG_TIDB_DSN": server.create_database("lessons")}
    service = start_service({**store, "MG_REVIEWER_PATH_MODE": "both", "MG_FAILURE_THRESHOLD_X": "1"})
    first = [f"first-{number}" for number in range(FAILURES)]
    second = [f"second-{number}" for number in range(FAILURES)]
    with service.client() as client:
        lesson_id = promoted(client)
        for step in first:
            invoke(client, step)
        server.stop()
        before, wrong = failed_at_once(client, first)
        pending = answered(client.get("/escalations", params={"state": "pending", "limit": "1000"}))
        refused = client.get(f"/lessons/{lesson_id}")
        server.start()
        until(lambda: none_is_pending(client), 60)
        lesson = answered(client.get(f"/lessons/{lesson_id}"))
        unmatched = client.post("/incorporator/match", json=query("after"))
        if lesson["status"] != "pending_review" or answered(unmatched)["match"] is not None:
            wrong.append((lesson, unmatched.text))

        answered(client.post(f"/lessons/{lesson_id}/approve", json={}))
        for step in second:
            invoke(client, step)
        server.stop()
        meanwhile, more = failed_at_once(client, second)
        wrong += more
    service.kill()
    server.start()
    learner = start_service(store, app=LEARNER)
    with learner.client() as client:  # a person decides before the service is back
        answered(client.post(f"/lessons/{lesson_id}/edit", json={"title": "Retry uploads, corrected"}))
    learner.stop()
    service.start()
    with service.client() as client:
        until(lambda: none_is_pending(client), 60)
        ends, books = Ends(client, lesson_id), Books(client)
        wrong += books.wrong()
        invoke(client, "matched-again")
        lesson = answered(client.get(f"/lessons/{lesson_id}"))

    assert refused.status_code == 503, refused.text
    assert "retry-after" in refused.headers
    due = {(entry, path) for entry in (*before, *meanwhile) for path in ("human", "auto")}
    if len(pending) != min(1000, 2 * FAILURES):
        wrong.append(("pending", len(pending)))
    # A lesson that is disabled already is not disabled once more; a person's decision wins over everything.
    ended = [ends.states(entries, path) for entries in (before, meanwhile) for path in ("human", "auto")]
    if ended[0] != {"delivered"} or "delivered" not in ended[1] or ended[2:] != 2 * [{"superseded"}]:
        wrong.append(ended)
    if lesson["status"] != "promoted":
        wrong.append(lesson)
    wrong += ends.wrong(due)
    kept = {entry["id"] for entry in books.entries if entry["result_flag"] == "failure"}
    tally.add(
        Count(
            promise=PROMISE,
            fault="the object store's server is stopped",
            trials=2 * FAILURES,
            faults=2,
            lost=2 * FAILURES - len(kept & {*before, *meanwhile}) + ends.lost(due),
            duplicated=len(books.duplicated()) + ends.duplicated(),
            wrong=len(wrong),
        ),
        wrong,
    )


def test_decisions_go_on_while_the_feedback_database_is_stopped_and_every_failure_is_told_once_after(
    start_service: StartService, server: PostgresServer, tally: Tally
) -> None:
    service = start_service({"MG_FEEDBACK_TIDB_DSN": server.create_database("feedback"), "MG_FAILURE_THRESHOLD_X": "1"})
    with service.client() as client:
        lesson_id = promoted(client)
        with Load([service.url], clients=CLIENTS, steps=STEPS) as load:
            for outage in (1, 2):
                load.wait_for(outage * STEPS // 3)
                served = load.statuses[503]
                server.stop()
                until(lambda served=served: load.statuses[503] > served)  # type: ignore[misc]
                edit = {"title": f"Retry uploads, outage {outage}"}
                answered(client.post(f"/lessons/{lesson_id}/edit", json=edit))
                server.start()
        until(lambda: none_is_pending(client), 60)
        ends, books = Ends(client, lesson_id), Books(client)
        wrong = books.wrong()
    due = {(one.entry["id"], "human") for one in load.done if one.flag == "failure"}
    wrong += [*load.errors, *ends.wrong(due), *(load.statuses.keys() - {200, 409, 503})]
    tally.add(
        Count(
            promise=PROMISE,
            fault="the feedback database's server is stopped under load",
            trials=STEPS,
            faults=2,
            lost=len(books.lost(load.done)) + STEPS - len(load.done) + ends.lost(due),
            duplicated=len(books.duplicated()) + ends.duplicated(),
            wrong=len(wrong),
        ),
        wrong,
    )
