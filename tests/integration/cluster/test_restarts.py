"""A server of the storage goes away under load and comes back: refusals meanwhile, right answers within seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import pytest

from tests.e2e.calls import answered, promoted, query
from tests.e2e.service import until
from tests.faults.audit import Books
from tests.faults.load import Load
from tests.integration.cluster.conftest import Cluster, StartCluster
from tests.integration.cluster.test_loop import all_know, instruction, search
from tests.servers.process import ServerProcess
from tests.servers.storage import Storage

pytestmark = pytest.mark.faults

STEPS, CLIENTS = 120, 6
RECOVERY_S = 5.0
BY_RULE = "Retry upload report.pdf with backoff"


def refused(response: httpx.Response) -> bool:
    """Whether it is answered as the contract says while a store is away."""
    if response.status_code == 200:
        return False
    assert response.status_code == 503, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert int(response.headers["retry-after"]) > 0
    return True


def back_within_seconds(right: Callable[[], bool]) -> None:
    begun = time.monotonic()
    until(right, 2 * RECOVERY_S)
    assert time.monotonic() - begun <= RECOVERY_S


def loaded(cluster: Cluster) -> Load:
    return Load(cluster.incorporator_urls, clients=CLIENTS, steps=STEPS, failing=0.5)


def check_books(cluster: Cluster, load: Load) -> None:
    """All that was acknowledged is there, once, and the counters are right, as each Incorporator tells."""
    assert load.errors == []
    assert len(load.done) == STEPS
    assert load.statuses.keys() <= {200, 409, 503}
    for client in cluster.incorporators:
        books = Books(client)
        twice = set(books.duplicated()) & {one.step for one in load.done}
        assert (books.lost(load.done), twice, books.wrong()) == ([], set(), [])


def restarted(server: ServerProcess | None, meanwhile: Callable[[], None]) -> None:
    assert server is not None
    server.kill()
    meanwhile()
    server.start()


def test_a_database_that_is_away_is_a_503_and_nothing_acknowledged_is_lost(
    storage: Storage, start_cluster: StartCluster
) -> None:
    cluster = start_cluster(MG_FAILURE_THRESHOLD_X="1000")
    learner, incorporators = cluster.learners[1], cluster.incorporators
    lesson_id = promoted(cluster.learners[0])
    all_know(incorporators, instruction, BY_RULE)

    def away() -> None:
        until(lambda: load.statuses[503] > 0)
        for client in incorporators:
            until(lambda client=client: refused(client.get("/feedback/")))  # type: ignore[misc]
            assert client.get("/health").status_code == 200
            assert refused(client.get("/health/ready"))
        assert refused(learner.get("/lessons"))

    def right() -> bool:
        reads = [learner.get(f"/lessons/{lesson_id}"), *(one.get("/feedback/") for one in incorporators)]
        return not any(map(refused, reads))

    with loaded(cluster) as load:
        load.wait_for(STEPS // 3)
        restarted(storage.sql, away)
        back_within_seconds(right)
        assert [instruction(one) for one in incorporators] == [BY_RULE, BY_RULE]
    assert search(learner) == [lesson_id]
    check_books(cluster, load)


@pytest.mark.parametrize("storage", ["mariadb+milvus"], indirect=True)
def test_a_vector_store_that_is_away_leaves_rules_with_a_text_match_and_a_degraded_service(
    storage: Storage, start_cluster: StartCluster
) -> None:
    cluster = start_cluster(MG_FAILURE_THRESHOLD_X="1000")
    learner, incorporators = cluster.learners[0], cluster.incorporators
    expected = {"the upload fails, storage is degraded": promoted(learner)}
    all_know(incorporators, instruction, BY_RULE)

    def problems() -> list[str | None]:
        """What each process says of its vectors, and so of itself; Incorporators also have no model to ask."""
        said = [answered(one.get("/health/ready")) for one in (*cluster.learners, *incorporators)]
        found = [one["checks"]["vectors"] for one in said]
        assert [one["status"] for one in said] == [
            *("degraded" if one else "ok" for one in found[:2]),
            *["degraded"] * 2,
        ]
        return found

    def away() -> None:
        until(lambda: all(problems()))
        for client in incorporators:
            assert [instruction(client) for _ in range(5)] == [BY_RULE] * 5
        expected["bake bread, the sourdough does not rise"] = promoted(learner, title="Sourdough bread", body="Wait.")

    def found_by_vectors() -> bool:
        return all(nearest(one, text) == lesson_id for one in incorporators for text, lesson_id in expected.items())

    with loaded(cluster) as load:
        load.wait_for(STEPS // 3)
        restarted(storage.vectors, away)
        back_within_seconds(found_by_vectors)
        until(lambda: not any(problems()), 2 * RECOVERY_S)  # after the reconciler's next round
    assert load.statuses.keys() == {200}
    check_books(cluster, load)


def nearest(client: httpx.Client, text: str) -> str | None:
    """The lesson that is found by its vectors alone, since no rule is about it; None for a refusal, too."""
    body = query("nearest", "s2", "no rule", current_task_context={"operation": text})
    response = client.post("/incorporator/invoke", json=body)
    if response.status_code == 404 or refused(response):
        return None
    return str(answered(response)["match_result"]["matched_entity_id"])
