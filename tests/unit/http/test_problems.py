"""The shape of every refusal, and what goes around every answer."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from domain import errors
from entrypoints.http.problem_kinds import TABLE
from entrypoints.http.refusals import Refusal
from entrypoints.http.services import Check
from tests.unit.http.clients import client_of, incorporator, learner
from tests.unit.http.examples import ENTRY_ID, LESSON_ID, UNKNOWN_ID
from tests.unit.http.stubs import Stub

QUERY = {"session_id": "s1", "problem_solving_step_ref": "step-17", "problem_type": "p"}
OUTCOME = {"session_id": "unknown", "problem_solving_step_ref": "step-17", "result_flag": "success"}


def leaves(root: type[Exception]) -> list[type[Any]]:
    return [root, *(one for child in root.__subclasses__() for one in leaves(child))]


def test_every_error_has_a_place_in_the_table() -> None:
    startup_only = {errors.MemoryGridError, errors.InvalidConfiguration, Refusal}
    assert {one.code for one in leaves(errors.MemoryGridError) if one not in startup_only} == set(TABLE)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("POST", "/incorporator/invoke", {**QUERY, "problem_type": "unknown"}, 404, "no-match"),
        ("POST", "/incorporator/outcome", OUTCOME, 404, "no-selection"),
        ("GET", f"/lessons/{UNKNOWN_ID}", None, 404, "unknown-lesson"),
        ("GET", "/lessons/%00", None, 404, "unknown-lesson"),
        ("POST", "/lessons/x/approve", None, 404, "unknown-lesson"),
        ("DELETE", f"/lessons/{UNKNOWN_ID}", None, 404, "unknown-lesson"),
        ("GET", f"/feedback/{UNKNOWN_ID}", None, 404, "unknown-entry"),
        ("GET", "/escalations/x", None, 404, "unknown-escalation"),
        ("GET", "/nope", None, 404, "unknown-path"),
        ("GET", "/", None, 404, "unknown-path"),
        ("GET", "/nope//", None, 404, "unknown-path"),
        ("GET", f"/lessons/{LESSON_ID}/nope", None, 404, "unknown-path"),
        ("PUT", f"/lessons/{LESSON_ID}", {}, 405, "method-not-allowed"),
        ("POST", f"/lessons/{LESSON_ID}/approve", {"version": 7}, 409, "stale-version"),
        ("POST", "/incorporator/invoke", [], 400, "invalid-input"),
    ],
)
async def test_a_refusal_is_a_problem_with_its_own_type(
    method: str, path: str, body: Any, status: int, kind: str
) -> None:
    async with client_of(incorporator(Stub())) as client:
        answer = await client.request(method, path, json=body)
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["status"], problem["type"]) == (status, status, f"/problems/{kind}")
    assert problem["instance"] == path
    assert problem["title"]
    assert problem["detail"]


@pytest.mark.parametrize("path", ["//nope", "//nope//", "/lessons//x"])
async def test_the_instance_is_the_path_as_the_caller_wrote_it(path: str) -> None:
    async with client_of(incorporator(Stub())) as client:
        answer = await client.get(f"http://127.0.0.1:8001{path}")
    assert (answer.status_code, answer.json()["instance"]) == (404, path)


@pytest.mark.parametrize(
    ("fault", "status", "retry_after"),
    [
        (errors.StoreUnavailable("away"), 503, "1"),
        (errors.VectorsUnavailable("away"), 503, "1"),
        (errors.Overloaded("full"), 429, "1"),
        (errors.RequestInProgress("again"), 409, "1"),
        (errors.KeyReused("other body"), 422, None),
        (errors.InvalidConfiguration("secret"), 500, None),
        (RuntimeError("secret"), 500, None),
        (TimeoutError("secret"), 500, None),
    ],
)
async def test_an_error_of_a_use_case_has_its_status(fault: Exception, status: int, retry_after: str | None) -> None:
    async with client_of(incorporator(Stub(fault=fault))) as client:
        answer = await client.post("/incorporator/invoke", json=QUERY)
    assert answer.status_code == status
    assert answer.headers.get("retry-after") == retry_after
    assert "secret" not in answer.text


async def test_an_unexpected_fault_is_found_in_the_log_by_its_id(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        async with client_of(incorporator(Stub(fault=RuntimeError("boom")))) as client:
            answer = await client.post("/incorporator/invoke", json=QUERY)
    assert answer.json()["id"] == answer.headers["x-request-id"]
    assert answer.json()["id"] in caplog.text
    assert "boom" not in answer.text


async def test_a_wrong_method_names_the_right_ones() -> None:
    async with client_of(incorporator(Stub())) as client:
        assert (await client.put("/lessons")).headers["allow"] == "GET, HEAD, OPTIONS, POST"
        assert (await client.get("/incorporator/invoke")).headers["allow"] == "OPTIONS, POST"
        options = await client.options("/lessons/")
        assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")


@pytest.mark.parametrize("path", ["/health", "/feedback", f"/feedback/{ENTRY_ID}", "/lessons/review/queue", "/schema"])
async def test_head_and_a_trailing_slash_answer_as_get_does(path: str) -> None:
    async with client_of(incorporator(Stub())) as client:
        got = await client.get(path)
        for url in (path, f"{path}/"):
            headed = await client.head(url)
            assert (headed.status_code, headed.content) == (200, b"")
            assert headed.headers["content-length"] == got.headers["content-length"]
        assert (await client.get(f"{path}/")).content == got.content
        assert (await client.head("/nope")).status_code == 404


async def test_a_request_past_its_time_is_504() -> None:
    async with client_of(incorporator(Stub(delay_s=5), request_timeout_s=0.05)) as client:
        answer = await client.post("/incorporator/invoke", json=QUERY)
        assert answer.status_code == 504
        assert answer.json()["type"] == "/problems/timed-out"
        assert (await client.get("/health")).status_code == 200


async def test_too_many_requests_in_flight_are_503_and_health_still_answers() -> None:
    statuses: list[int] = []
    async with client_of(incorporator(Stub(delay_s=0.2), max_in_flight=2)) as client:

        async def ask() -> None:
            answer = await client.post("/incorporator/invoke", json=QUERY)
            statuses.append(answer.status_code)
            assert answer.status_code == 200 or answer.headers["retry-after"] == "1"

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
            await anyio.sleep(0.05)
            assert (await client.get("/health")).status_code == 200
        assert sorted(statuses) == [200, 200, 503, 503, 503]
        assert (await client.post("/incorporator/invoke", json=QUERY)).status_code == 200


async def test_readiness_tells_unready_from_degraded() -> None:
    degraded = Check(name="vectors", problem="connection refused", vital=False)
    unready = Check(name="object_store", problem="connection refused")
    for checks, status, word in (((degraded,), 200, "degraded"), ((unready, degraded), 503, "connection refused")):
        app = incorporator(Stub(checks=checks))
        async with client_of(app) as client:
            answer = await client.get("/health/ready")
            assert answer.status_code == status
            assert word in answer.text
        async with client_of(app, "8.8.8.8") as client:
            answer = await client.get("/health/ready")
            assert answer.status_code == status
            assert "connection refused" not in answer.text


async def test_the_learner_has_lessons_and_health_only() -> None:
    async with client_of(learner(Stub())) as client:
        assert (await client.get("/lessons")).status_code == 200
        assert (await client.get("/health")).status_code == 200
        assert (await client.get("/feedback")).status_code == 404


async def test_what_lives_with_the_app_is_entered_and_left() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def resource() -> Any:
        seen.append("up")
        yield
        seen.append("down")

    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        seen.append(message["type"])

    await incorporator(Stub(), lifespan=[resource])({"type": "lifespan"}, receive, send)
    assert seen == ["up", "lifespan.startup.complete", "down", "lifespan.shutdown.complete"]


async def test_the_type_of_every_problem_leads_to_what_to_do() -> None:
    async with client_of(incorporator(Stub(), "admin:k"), "8.8.8.8") as client:
        refused = (await client.get("/lessons")).json()
        found = (await client.get(refused["type"])).json()
        assert (found["type"], found["status"], found["title"]) == (refused["type"], 401, refused["title"])
        assert [kind["type"] for kind in (await client.get("/problems")).json()] == [
            f"/problems/{one}" for one in TABLE
        ]
        assert (await client.get("/problems/nope")).status_code == 404
