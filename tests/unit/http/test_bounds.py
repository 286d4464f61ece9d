"""Every limit: over it there is a refusal of the documented kind, and never growth."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
import pytest

from domain.errors import Overloaded
from tests.unit.http.clients import QUERY, client_of, incorporator
from tests.unit.http.examples import LESSON_ID
from tests.unit.http.stubs import Stub

OUTCOME = {"session_id": "s1", "problem_solving_step_ref": "step-17", "result_flag": "success"}
DRAFT = {"bin": "skills_base", "title": "t", "body": "b"}
DECISION = f"/lessons/{LESSON_ID}/approve"
MIB = 1 << 20


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


# What is limited, and a request at the limit and one over it.
BODIES: list[tuple[str, str, Any, Any]] = [
    ("an id's length", "/incorporator/invoke", {**QUERY, "session_id": "x" * 255}, {**QUERY, "session_id": "x" * 256}),
    (
        "an outcome's id",
        "/incorporator/outcome",
        {**OUTCOME, "outcome_id": "x" * 255},
        {**OUTCOME, "outcome_id": "x" * 256},
    ),
    (
        "nesting",
        "/incorporator/invoke",
        {**QUERY, "system_state": {"x": deep(30)}},
        {**QUERY, "system_state": {"x": deep(31)}},
    ),
    (
        "a number",
        "/incorporator/invoke",
        {**QUERY, "system_state": {"x": 10**308}},
        {**QUERY, "system_state": {"x": 10**309}},
    ),
    ("a title's length", "/lessons", {**DRAFT, "title": "x" * 500}, {**DRAFT, "title": "x" * 501}),
    ("a source's length", "/lessons", {**DRAFT, "source": "x" * 500}, {**DRAFT, "source": "x" * 501}),
    ("a tag's length", "/lessons", {**DRAFT, "tags": ["x" * 100]}, {**DRAFT, "tags": ["x" * 101]}),
    ("the number of tags", "/lessons", {**DRAFT, "tags": ["x"] * 64}, {**DRAFT, "tags": ["x"] * 65}),
    ("a batch", "/lessons/batch", [DRAFT] * 1_000, [DRAFT] * 1_001),
    ("a note's length", DECISION, {"note": "x" * 10_000}, {"note": "x" * 10_001}),
    ("a reviewer's length", DECISION, {"reviewer": "x" * 255}, {"reviewer": "x" * 256}),
]
QUERIES: list[tuple[str, str, str]] = [
    ("a page", "/feedback?limit=1000", "/feedback?limit=1001"),
    ("the review queue", "/lessons/review/queue?limit=1000", "/lessons/review/queue?limit=1001"),
    ("hits", "/lessons/search?q=a&top_k=100", "/lessons/search?q=a&top_k=101"),
    ("a search's length", "/lessons/search?q=" + "a" * 10_000, "/lessons/search?q=" + "a" * 10_001),
    ("a filter's length", "/lessons?q=" + "a" * 10_000, "/lessons?q=" + "a" * 10_001),
    ("a cursor's length", "/escalations?cursor=" + "a" * 1_000, "/escalations?cursor=" + "a" * 1_001),
    ("the number of parameters", "/feedback?" + "&".join(["limit="]), "/feedback?" + "&".join(["limit="] * 40)),
]


def is_problem(answer: httpx.Response, status: int, kind: str) -> None:
    assert answer.status_code == status, answer.text[:300]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == f"/problems/{kind}"
    assert len(answer.content) < 20_000


@pytest.mark.parametrize(("path", "at", "over"), [row[1:] for row in BODIES], ids=[row[0] for row in BODIES])
async def test_what_a_body_holds_is_bounded(path: str, at: Any, over: Any) -> None:
    async with client_of(incorporator(Stub())) as client:
        assert (await client.post(path, json=at)).status_code in (200, 201)
        is_problem(await client.post(path, json=over), 400, "invalid-input")


@pytest.mark.parametrize(("at", "over"), [row[1:] for row in QUERIES], ids=[row[0] for row in QUERIES])
async def test_what_a_query_holds_is_bounded(at: str, over: str) -> None:
    async with client_of(incorporator(Stub())) as client:
        assert (await client.get(at)).status_code == 200
        is_problem(await client.get(over), 400, "invalid-input")


async def test_an_idempotency_key_is_bounded() -> None:
    async with client_of(incorporator(Stub())) as client:
        for length, status in ((255, 200), (256, 400)):
            headers = {"Idempotency-Key": "k" * length}
            assert (await client.post("/incorporator/invoke", json=QUERY, headers=headers)).status_code == status


async def test_a_bodys_size_is_bounded() -> None:
    async with client_of(incorporator(Stub())) as client:
        fitting = json.dumps(QUERY).encode().ljust(MIB)
        assert (await client.post("/incorporator/invoke", content=fitting)).status_code == 200
        is_problem(await client.post("/incorporator/invoke", content=fitting + b" "), 413, "body-too-large")


async def test_a_full_queue_is_429() -> None:
    async with client_of(incorporator(Stub(fault=Overloaded("4096 writes are waiting")))) as client:
        answer = await client.post("/incorporator/outcome", json=OUTCOME)
        is_problem(answer, 429, "overloaded")
        assert answer.headers["retry-after"] == "1"


async def test_a_requests_time_is_bounded() -> None:
    async with client_of(incorporator(Stub(delay_s=5), request_timeout_s=0.05)) as client:
        is_problem(await client.post("/incorporator/invoke", json=QUERY), 504, "timed-out")


async def answers_of(client: httpx.AsyncClient, count: int, body: bytes) -> list[httpx.Response]:
    """The answers to so many requests at once; the service stays alive meanwhile."""
    answers: list[httpx.Response] = []

    async def ask() -> None:
        answers.append(await client.post("/incorporator/invoke", content=body))

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(ask)
        await anyio.sleep(0.05)
        assert (await client.get("/health")).status_code == 200
    return answers


@pytest.mark.parametrize(
    ("size", "at_once", "in_flight"), [(0, 4, 4), (MIB, 32, 1_000)], ids=["requests", "large bodies"]
)
async def test_what_is_worked_on_at_once_is_bounded(size: int, at_once: int, in_flight: int) -> None:
    body = json.dumps(QUERY).encode().ljust(size)
    async with client_of(incorporator(Stub(delay_s=0.3), max_in_flight=in_flight)) as client:
        for _ in range(2):
            answers = await answers_of(client, at_once + 3, body)
            refused = [one for one in answers if one.status_code != 200]
            assert len(refused) == 3
            for one in refused:
                is_problem(one, 503, "too-busy")
                assert one.headers["retry-after"] == "1"


async def test_a_large_body_that_is_refused_takes_no_room() -> None:
    async with client_of(incorporator(Stub())) as client:
        for _ in range(100):
            assert (await client.post("/incorporator/invoke", content=b"[".ljust(MIB))).status_code == 400
        assert (await client.post("/incorporator/invoke", content=json.dumps(QUERY).ljust(MIB))).status_code == 200


async def test_a_client_that_does_not_read_its_answer_keeps_nobody_out() -> None:
    app = incorporator(Stub(), max_in_flight=1)
    is_read = anyio.Event()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(QUERY).encode(), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await is_read.wait()

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/incorporator/invoke",
        "raw_path": b"/incorporator/invoke",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8001),
    }
    async with anyio.create_task_group() as group, client_of(app) as client:
        group.start_soon(app, scope, receive, send)
        await anyio.sleep(0.05)
        for _ in range(3):
            assert (await client.post("/incorporator/invoke", json=QUERY)).status_code == 200
        is_read.set()
