"""The documented loop over two Learners and two Incorporators: what one process does, the others know in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import httpx

from tests.e2e.calls import UPLOAD_LESSON, answered, invoke, query, report
from tests.integration.cluster.conftest import REFRESH_S, Cluster, StartCluster

ID, ACTION = "matched_entity_id", "retry_with_backoff"
REPAIRED = {"action": ACTION, "instruction_template": "Ask whether {operation} may wait, then retry it"}
#: No rule is about it: the lesson is found among the vectors.
SIMILAR: dict[str, Any] = {
    "problem_type": "storage_trouble",
    "current_task_context": {"operation": "upload report.pdf", "error": "the upload fails, storage is degraded"},
}


def instruction(client: httpx.Client, **more: Any) -> str | None:
    """What an agent is told to do; None where no lesson matches."""
    response = client.post("/incorporator/invoke", json=query("a-step", **more))
    if response.status_code == 404:
        return None
    return str(answered(response)["instruction"])


def all_know(clients: Iterable[httpx.Client], look: Callable[[httpx.Client], object], expected: object) -> None:
    """Every request that is sent later than the documented time after now is answered rightly."""
    decided = time.monotonic()
    for client in clients:
        late = 0.0
        while (answer := look(client)) != expected:
            assert late <= REFRESH_S, f"{answer} instead of {expected}, {late:.2f} s after the decision"
            late = time.monotonic() - decided
        assert [look(client) for _ in range(3)] == [expected] * 3


def search(learner: httpx.Client) -> list[str]:
    hits = answered(learner.get("/lessons/search", params={"q": "retry uploads", "bin": "skills_base"}))
    return [hit["id"] for hit in hits]


def queue(learner: httpx.Client) -> list[tuple[str, str]]:
    return [(one["id"], one["reason"]) for one in answered(learner.get("/lessons/review/queue"))]


def status(learner: httpx.Client, lesson_id: str) -> str:
    return str(answered(learner.get(f"/lessons/{lesson_id}"))["status"])


def injected_and_approved(cluster: Cluster) -> str:
    """By one Learner and the other; nothing matches until then, and everywhere afterwards."""
    first, second = cluster.learners
    lesson_id = str(answered(first.post("/lessons", json=UPLOAD_LESSON), 201)["id"])
    assert queue(second) == [(lesson_id, "injected")]
    assert [instruction(one) for one in cluster.incorporators] == [None, None]
    answered(second.post(f"/lessons/{lesson_id}/approve", json={"reviewer": "ann"}))
    all_know(cluster.incorporators, instruction, "Retry upload report.pdf with backoff")
    all_know(cluster.learners, search, [lesson_id])
    for one in cluster.incorporators:
        match = invoke(one, "similar", **SIMILAR)["match_result"]
        assert (match[ID], match["matcher_used"]) == (lesson_id, "llm")
    return lesson_id


def failed_in_turn(cluster: Cluster, times: int) -> list[int]:
    """Failures of one lesson, each selected by one Incorporator and reported to the other; the counts they saw."""
    counts = []
    for number in range(times):
        one, other = cluster.incorporators[:: 1 if number % 2 else -1]
        invoke(one, f"failing-{number}")
        counts.append(report(other, f"failing-{number}")["failures_seen"])
    return counts


def test_a_lesson_is_promoted_fails_is_flagged_disabled_and_repaired_by_different_processes(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster(MG_FAILURE_THRESHOLD_X="3")
    first, second = cluster.learners
    lesson_id = injected_and_approved(cluster)

    assert failed_in_turn(cluster, 2) == [1, 2]
    assert [queue(one) for one in cluster.learners] == [[], []]
    assert failed_in_turn(cluster, 1) == [3]
    flagged = (lesson_id, "3 failed outcomes in review round 1")
    assert [queue(one) for one in cluster.learners] == [[flagged], [flagged]]
    assert None not in [instruction(one) for one in cluster.incorporators]  # it still matches until somebody decides

    answered(first.post(f"/lessons/{lesson_id}/disable", json={"reviewer": "ann"}))
    all_know(cluster.incorporators, instruction, None)
    all_know(cluster.incorporators, lambda one: instruction(one, **SIMILAR), None)
    all_know(cluster.learners, search, [])

    edit = {"body": "Wait until storage has room, then retry uploads.", "dsl_payload": REPAIRED, "reviewer": "bob"}
    repaired = answered(second.post(f"/lessons/{lesson_id}/edit", json=edit))
    assert (repaired["status"], repaired["review_round"]) == ("promoted", 2)
    all_know(cluster.incorporators, instruction, "Ask whether upload report.pdf may wait, then retry it")
    all_know(cluster.learners, search, [lesson_id])
    assert [queue(one) for one in cluster.learners] == [[], []]
    assert failed_in_turn(cluster, 1) == [1]  # of the new review round
    metrics = [answered(one.get("/feedback/metrics/usage")) for one in cluster.incorporators]
    assert metrics[0] == metrics[1]
    assert metrics[0]["overall"]["failure"] == 4


def test_a_lesson_that_an_escalation_disables_is_matched_by_no_process_until_it_is_restored(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster(MG_FAILURE_THRESHOLD_X="2", MG_REVIEWER_PATH_MODE="auto_only")
    lesson_id = injected_and_approved(cluster)
    assert failed_in_turn(cluster, 2) == [1, 2]
    all_know(cluster.incorporators, instruction, None)
    all_know(cluster.incorporators, lambda one: instruction(one, **SIMILAR), None)
    assert [status(one, lesson_id) for one in cluster.learners] == ["disabled", "disabled"]
    answered(cluster.learners[0].post(f"/lessons/{lesson_id}/approve", json={"reviewer": "ann"}))
    all_know(cluster.incorporators, instruction, "Retry upload report.pdf with backoff")
    assert [status(one, lesson_id) for one in cluster.learners] == ["promoted", "promoted"]
