"""Many clients on two processes that share the databases: nothing is missed, nothing counts twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.calls import answered, invoke, promoted
from tests.e2e.conftest import StartService
from tests.e2e.service import until
from tests.faults.audit import Books, all_pages
from tests.faults.conftest import MARIADB, POSTGRES, SQLITE, NewDatabases
from tests.faults.load import side_by_side
from tests.faults.tally import LONG, Count, Tally

pytestmark = pytest.mark.faults

CLIENTS, EACH = (64, 8) if LONG else (16, 4)
THRESHOLD = 5


@pytest.mark.parametrize("engine", [SQLITE, POSTGRES, MARIADB])
def test_simultaneous_reports_on_two_processes_see_consecutive_counts_and_cross_the_threshold_once(
    engine: str, databases: NewDatabases, start_service: StartService, tmp_path: Path, tally: Tally
) -> None:
    env = {**databases(engine), "MG_FAILURE_THRESHOLD_X": str(THRESHOLD), "MG_CATALOG_REFRESH_S": "0.1"}
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
    services = [start_service(env, home=home) for home in homes]
    with services[0].client() as first, services[1].client() as second:
        lesson_id = promoted(first)
        invoke(first, "shared")

        def client(number: int) -> list[dict[str, object]]:
            """Invokes and fails its own step, and reports the step that all share."""
            entries = []
            with services[number % 2].client() as own:
                for turn in range(EACH):
                    step = f"{number}-{turn}"
                    invoke(own, step)
                    for of in (step, "shared"):
                        body = {"problem_solving_step_ref": of, "session_id": "s1", "result_flag": "failure"}
                        entries.append(answered(own.post("/incorporator/outcome", json=body)))
            return entries

        told = side_by_side(client, CLIENTS)
        wrong: list[object] = [one for one in told if not isinstance(one, list)]
        entries = [entry for one in told if isinstance(one, list) for entry in one]
        books = Books(second)
        wrong += books.wrong()
        [shared] = [entry for entry in books.entries if entry["problem_solving_step_ref"] == "shared"]
        # A report waits 2 s at most for its effect; the dispatcher finishes what takes longer.
        until(lambda: not answered(first.get("/escalations", params={"state": "pending"})), 60)
        escalations = all_pages(first, "/escalations")
        log = all_pages(first, f"/lessons/{lesson_id}/log")

    own_counts = sorted(entry["failures_seen"] for entry in entries if entry["problem_solving_step_ref"] != "shared")
    reports = CLIENTS * EACH
    if shared["usage_count"] != 1 + reports:
        wrong.append(("usage_count", shared["usage_count"], 1 + reports))
    # The shared entry fails once and stays failed: its first report adds one count between the others'.
    counts = {entry["failures_seen"] for entry in entries}
    if counts != set(range(1, reports + 2)):
        wrong.append("the counts are not consecutive")
    due = [entry for entry in entries if entry["failures_seen"] >= THRESHOLD]
    if len(escalations) != len(due) or any(one["state"] != "delivered" for one in escalations):
        wrong.append(("escalations", Counter(one["state"] for one in escalations), len(due)))
    flagged = [one for one in log if one["event"] == "runtime_failure_flagged"]
    tally.add(
        Count(
            promise="2 Exactness",
            fault=f"{CLIENTS} clients at once on 2 processes, {engine}",
            trials=2 * reports,
            faults=0,
            lost=2 * reports - len(entries),
            duplicated=len(own_counts) - len(set(own_counts)) + abs(len(flagged) - len(due)),
            wrong=len(wrong),
        ),
        wrong,
    )
