"""The calls that a pipeline and a reviewer make, with the statuses that they expect."""

from __future__ import annotations

from typing import Any

import httpx

UPLOAD_LESSON: dict[str, object] = {
    "bin": "skills_base",
    "title": "Retry uploads with backoff",
    "body": "When an upload fails because storage is degraded, retry uploads with exponential backoff.",
    "dsl_payload": {"action": "retry_with_backoff", "instruction_template": "Retry {operation} with backoff"},
}


def answered(response: httpx.Response, status: int = 200) -> Any:
    """The JSON of an answer that has this status."""
    assert response.status_code == status, (response.status_code, response.text[:800])
    return response.json()


def promoted(client: httpx.Client, **changes: object) -> str:
    """Injects and approves a lesson; its id."""
    lesson = answered(client.post("/lessons", json={**UPLOAD_LESSON, **changes}), 201)
    answered(client.post(f"/lessons/{lesson['id']}/approve", json={"reviewer": "ann"}))
    return str(lesson["id"])


def query(
    step: str = "step-17", session: str = "s1", problem_type: str = "flaky_upload", **more: object
) -> dict[str, object]:
    return {
        "session_id": session,
        "problem_solving_step_ref": step,
        "problem_type": problem_type,
        "current_task_context": {"operation": "upload report.pdf"},
        **more,
    }


def invoke(client: httpx.Client, step: str = "step-17", **more: Any) -> Any:
    return answered(client.post("/incorporator/invoke", json=query(step, **more)))


def report(client: httpx.Client, step: str = "step-17", flag: str = "failure", **more: object) -> Any:
    body = {"problem_solving_step_ref": step, "session_id": "s1", "result_flag": flag, **more}
    return answered(client.post("/incorporator/outcome", json=body))


def failed(client: httpx.Client, times: int, first: int = 0) -> list[Any]:
    """Invokes and reports a failure, each at a step of its own; the entries."""
    entries = []
    for number in range(first, first + times):
        invoke(client, f"failing-{number}")
        entries.append(report(client, f"failing-{number}"))
    return entries
