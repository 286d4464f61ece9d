"""What was acknowledged outlives `kill -9`, and what is due is delivered."""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.e2e.calls import promoted
from tests.e2e.conftest import StartService
from tests.e2e.http_target import RecordingTarget, delivering_to
from tests.e2e.service import until
from tests.faults.audit import Books, all_pages, next_failure_count
from tests.faults.conftest import POSTGRES, SQLITE, NewDatabases
from tests.faults.load import Load
from tests.faults.tally import LONG, Count, Tally

pytestmark = pytest.mark.faults

OUTCOMES, CLIENTS, KILLS = (2_000, 32, 10) if LONG else (240, 8, 3)
THRESHOLD = 3


def by_failure(review: RecordingTarget, engine: RecordingTarget) -> dict[tuple[str, object], set[str]]:
    """The keys of the deliveries that came for each failure, along each path."""
    keys: dict[tuple[str, object], set[str]] = defaultdict(set)
    for delivery in list(review.deliveries):
        keys["human", delivery.body["feedback_entry_id"]].add(delivery.headers["idempotency-key"])
    for delivery in list(engine.deliveries):
        payload = delivery.body["payload"]
        assert isinstance(payload, dict)
        keys["auto", payload["failure_count"]].add(delivery.headers["idempotency-key"])
    return keys


@pytest.mark.parametrize("engine", [SQLITE, POSTGRES])
def test_what_was_acknowledged_outlives_kills_and_every_due_escalation_arrives_under_one_key(
    engine: str, databases: NewDatabases, start_service: StartService, tally: Tally
) -> None:
    with RecordingTarget() as review, RecordingTarget() as workflows:
        service = start_service(
            {**databases(engine), **delivering_to(review=review.url, engine=workflows.url, threshold=THRESHOLD)}
        )
        with service.client() as client:
            promoted(client)
        with Load([service.url], clients=CLIENTS, steps=OUTCOMES) as load:
            for kill in range(1, KILLS + 1):
                load.wait_for(kill * OUTCOMES // (KILLS + 1))
                service.kill()
                service.start()
        with service.client() as client:
            books = Books(client)
            wrong = books.wrong()
            failures = [one for one in load.done if one.flag == "failure"]
            due = {("human", one.entry["id"]) for one in failures if one.entry["failures_seen"] >= THRESHOLD}
            due |= {("auto", count) for count in range(THRESHOLD, len(failures) + 1)}
            until(lambda: due <= by_failure(review, workflows).keys(), 60)
            delivered = by_failure(review, workflows)
            rows = all_pages(client, "/escalations")
            if books.counts_seen() != list(range(1, len(failures) + 1)):
                wrong.append("counts seen")
            if next_failure_count(client) != len(failures) + 1:
                wrong.append("the count behind the threshold")

    wrong += load.errors
    wrong += [failure for failure in delivered if failure not in due]
    lost = len(books.lost(load.done)) + (OUTCOMES - len(load.done)) + len(due - delivered.keys())
    twice = len(books.duplicated()) + sum(len(keys) - 1 for keys in delivered.values()) + max(0, len(rows) - len(due))
    tally.add(
        Count(
            promise="1 Durability",
            fault=f"kill -9 under load, {engine}",
            trials=OUTCOMES,
            faults=KILLS,
            lost=lost,
            duplicated=twice,
            wrong=len(wrong),
        ),
        wrong,
    )
