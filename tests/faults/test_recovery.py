"""What breaks for a while is good again by itself, and nothing acknowledged is lost meanwhile."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.calls import invoke, promoted, query
from tests.e2e.conftest import StartService
from tests.e2e.service import until
from tests.faults.audit import Books
from tests.faults.load import Load
from tests.faults.tally import LONG, Count, Tally
from tests.servers.fixtures import require
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.faults

PROMISE = "6 Recovery"
STEPS, CLIENTS, RESTARTS = (1_000, 32, 5) if LONG else (150, 8, 1)
RECOVERY_S = 5.0


def test_a_database_that_restarts_under_load_loses_nothing_and_is_used_again_within_seconds(
    start_service: StartService, tally: Tally
) -> None:
    require(PostgresServer)
    slow = 0
    with PostgresServer() as server:
        service = start_service(
            {
                "MG_TIDB_DSN": server.create_database("lessons"),
                "MG_FEEDBACK_TIDB_DSN": server.create_database("feedback"),
            }
        )
        with service.client() as client:
            promoted(client)
            with Load([service.url], clients=CLIENTS, steps=STEPS) as load:
                for number in range(1, RESTARTS + 1):
                    load.wait_for(number * STEPS // (RESTARTS + 1))
                    server.kill()
                    until(lambda: load.statuses[503] > 0, 20)
                    server.start()
                    back = time.monotonic()
                    until(lambda: client.get("/feedback/", params={"limit": "1"}).status_code == 200, 20)
                    slow += time.monotonic() - back > RECOVERY_S
            books = Books(client)
            wrong = [*books.wrong(), *load.errors]
    unexpected = load.statuses.keys() - {200, 409, 503}
    assert not unexpected, load.statuses
    tally.add(
        Count(
            promise=PROMISE,
            fault="PostgreSQL is killed and restarted under load",
            trials=STEPS,
            faults=RESTARTS,
            lost=len(books.lost(load.done)) + STEPS - len(load.done),
            duplicated=len(books.duplicated()),
            wrong=len(wrong) + slow,
        ),
        wrong,
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB, a quarter of which is taken by `ballast`."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip(f"a small disk takes root: {mount.stderr.decode().strip()}")
    (folder / "ballast").write_bytes(b"x" * 512 * 1024)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_is_answered_503_and_the_service_goes_on_when_there_is_room(
    start_service: StartService, small_disk: Path, tally: Tally
) -> None:
    service = start_service(
        {"MG_FEEDBACK_TIDB_DSN": f"sqlite+aiosqlite:///{small_disk}/feedback.db", "MG_REQUEST_TIMEOUT_S": "25"}
    )
    told: dict[str, str] = {}
    refused = 0
    statuses: set[int] = set()
    with service.client() as client:
        promoted(client)
        for step in range(400):
            body = query(f"step-{step}", current_task_context={"operation": "x" * 20_000})
            response = client.post("/incorporator/invoke", json=body)
            statuses.add(response.status_code)
            if response.status_code == 200:
                told[f"step-{step}"] = response.json()["id"]
            else:
                refused += 1
                if refused > 5:
                    break
        assert client.get("/feedback/", params={"limit": "1"}).status_code == 200
        unready = client.get("/health/ready")
        (small_disk / "ballast").unlink()
        until(lambda: client.get("/health/ready").status_code == 200, 20)
        back = time.monotonic()
        until(lambda: client.post("/incorporator/invoke", json=query("after")).status_code == 200, 20)
        slow = time.monotonic() - back > RECOVERY_S
    service.kill()
    service.start()
    with service.client() as client:
        books = Books(client)
        kept = {entry["transaction_log_ref"] for entry in books.entries}
        wrong = books.wrong()
    assert refused
    assert unready.status_code == 503
    assert "disk" in unready.json()["detail"]
    assert statuses == {200, 503}, statuses
    tally.add(
        Count(
            promise=PROMISE,
            fault="the disk is full",
            trials=len(told) + refused,
            faults=refused,
            lost=len(set(told.values()) - kept),
            duplicated=len(books.duplicated()),
            wrong=len(wrong) + slow,
        ),
        wrong,
    )


def test_another_process_that_holds_the_write_lock_of_sqlite_delays_or_is_answered_503(
    start_service: StartService, tmp_path: Path, tally: Tally
) -> None:
    service = start_service({"MG_REQUEST_TIMEOUT_S": "30"})
    with service.client() as client, closing(sqlite3.connect(tmp_path / "memorygrid_feedback.db")) as other:
        promoted(client)
        invoke(client, "before")
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        with Load([service.url], clients=4, steps=8) as load:
            time.sleep(1)
            assert not load.done
            assert client.get("/feedback/").status_code == 200
            other.execute("ROLLBACK")
        other.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        response = client.post("/incorporator/invoke", json=query("locked"))
        took = time.monotonic() - start
        other.execute("ROLLBACK")
        back = time.monotonic()
        invoke(client, "after")
        slow = time.monotonic() - back > RECOVERY_S
        books = Books(client)
        wrong = [*books.wrong(), *load.errors]
    assert response.status_code == 503, response.text
    assert "retry-after" in response.headers
    tally.add(
        Count(
            promise=PROMISE,
            fault="another process holds SQLite's write lock",
            trials=10,
            faults=2,
            lost=len(books.lost(load.done)) + 8 - len(load.done),
            duplicated=len(books.duplicated()),
            wrong=len(wrong) + slow + (took > 30),
        ),
        (wrong, slow, took),
    )
