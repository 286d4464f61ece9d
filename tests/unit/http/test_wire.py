"""Strict reading of bodies and parameters: nothing that a client sends is a fault of the service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entrypoints.http.strictness import too_deep
from tests.unit.http.stubs import LESSON_ID, Stub, client_of, incorporator

QUERY = {"session_id": "s1", "problem_solving_step_ref": "step-17", "problem_type": "p"}
JSON = {"Content-Type": "application/json"}


async def invoke(content: Any, headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
    async with client_of(incorporator(Stub(), **more)) as client:
        return await client.post("/incorporator/invoke", content=content, headers=headers or JSON)


def with_context(text: str) -> bytes:
    return json.dumps(QUERY).encode()[:-1] + b', "current_task_context": {"x": ' + text.encode() + b"}}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"nonsense",
        b"[]",
        b"null",
        b'{"session_id": 1}',
        b"\xef\xbb\xbf{}",
        b'{"session_id": "\xff"}',
        b"[" * 100_000,
        with_context("NaN"),
        with_context("Infinity"),
        with_context("1e400"),
        with_context("-1e400"),
        with_context("1" + "0" * 309),
        with_context("-" + "9" * 400),
        with_context("1" * 5_000),
        with_context('"\\u0000"'),
        with_context('{"\\u0000": 1}'),
        with_context('"\\ud800"'),
        with_context('"a\\udc00b"'),
        with_context("[" * 31 + "]" * 31),
        with_context('{"a":' * 31 + "1" + "}" * 31),
        json.dumps({**QUERY, "session_id": ""}).encode(),
        json.dumps({**QUERY, "session_id": "x" * 256}).encode(),
        json.dumps({**QUERY, "session_id": "a\nb"}).encode(),
        json.dumps({**QUERY, "session_id": "ab\n"}).encode(),
        json.dumps({**QUERY, "session_id": "a\x85b"}).encode(),
        json.dumps({**QUERY, "current_task_context": []}).encode(),
    ],
)
async def test_a_body_of_another_shape_is_400_and_says_where(content: bytes) -> None:
    answer = await invoke(content)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == "/problems/invalid-input"
    assert all(error["path"].startswith("$") and error["message"] for error in problem["errors"])
    assert problem["errors"]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(QUERY).encode(),
        json.dumps({**QUERY, "unknown": 1}).encode(),
        with_context("1" + "0" * 300),
        with_context("12345678901234567890123"),
        with_context('"' + "1" * 400 + '"'),
        with_context('"\\\\u0000"'),
        with_context('"\\ud83d\\ude00"'),
        with_context('"' + "[" * 100 + '"'),
        with_context("[" * 30 + "]" * 30),
        with_context("[" + "[]," * 500 + "[]]"),
        json.dumps({**QUERY, "session_id": "\u00e9\u4e2d \U0001f600 " + "x" * 200}, ensure_ascii=False).encode(),
    ],
)
async def test_an_unusual_but_valid_body_is_taken(content: bytes) -> None:
    answer = await invoke(content)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=UTF-8", 200),
        ("application/vnd.grid+json", 200),
        ("APPLICATION/JSON", 200),
        ("text/plain", 415),
        ("application/jsonp", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/json; charset=utf-16", 415),
        ("", 415),
    ],
)
async def test_a_declared_type_must_be_json(content_type: str, status: int) -> None:
    assert (await invoke(json.dumps(QUERY).encode(), {"Content-Type": content_type})).status_code == status


async def test_a_body_without_a_declared_type_is_read_as_json() -> None:
    async with client_of(incorporator(Stub())) as client:
        request = client.build_request("POST", "/incorporator/invoke", content=json.dumps(QUERY).encode())
        request.headers.pop("content-type", None)
        assert (await client.send(request)).status_code == 200


async def test_a_compressed_body_is_415() -> None:
    assert (await invoke(b"x", {**JSON, "Content-Encoding": "gzip"})).status_code == 415


async def test_a_body_over_the_limit_is_413_with_and_without_a_length() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100

    assert (await invoke(b" " * 1_001, max_body_bytes=1_000)).status_code == 413
    assert (await invoke(chunks(), max_body_bytes=1_000)).status_code == 413
    assert (await invoke(json.dumps(QUERY).encode().ljust(1_000), max_body_bytes=1_000)).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        "x=1",
        "limit=1&limit=2",
        "limit=0",
        "limit=1001",
        "limit=ten",
        "limit=null",
        "limit=-1",
        "result_flag=maybe",
        "result_flag=null",
        "session_id=%00",
        "session_id=%ff",
        "session_id=a%0ab",
        "session_id=" + "x" * 256,
        "cursor=bad",
        "cursor=%20",
        "lesson_skill_id=1&lesson_skill_id=",
        "&".join(f"a{n}=1" for n in range(100)),
    ],
)
async def test_a_bad_query_parameter_is_400_and_named(query: str) -> None:
    async with client_of(incorporator(Stub())) as client:
        answer = await client.get(f"/feedback/?{query}")
    assert answer.status_code == 400, answer.text
    assert answer.json()["type"] == "/problems/invalid-input"


@pytest.mark.parametrize("path", ["/health", "/lessons/review/queue", f"/lessons/{LESSON_ID}"])
async def test_a_route_without_parameters_takes_none(path: str) -> None:
    async with client_of(incorporator(Stub())) as client:
        assert (await client.get(f"{path}?x=1")).status_code == 400


async def test_an_empty_filter_is_an_absent_one() -> None:
    stub = Stub()
    async with client_of(incorporator(stub)) as client:
        answer = await client.get("/feedback/?lesson_skill_id=&session_id=&result_flag=&limit=&cursor=")
    assert answer.status_code == 200
    where, limit, cursor = stub.asked[-1]
    assert (where.lesson_skill_id, where.session_id, where.result_flag, limit, cursor) == (None, None, None, 100, None)


async def test_the_link_leads_through_all_pages_with_the_same_filters() -> None:
    stub = Stub()
    async with client_of(incorporator(stub)) as client:
        first = await client.get("/feedback/", params={"session_id": "s 1&x", "limit": 7})
        second = await client.get(first.links["next"]["url"])
    where, limit, cursor = stub.asked[-1]
    assert (where.session_id, limit, cursor) == ("s 1&x", 7, "next")
    assert "link" not in second.headers


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "é"])
async def test_a_bad_idempotency_key_is_400(key: str) -> None:
    answer = await invoke(json.dumps(QUERY).encode(), {**JSON, "Idempotency-Key": key.encode()})  # type: ignore[dict-item]
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == "Idempotency-Key"


async def test_the_fingerprint_is_of_what_the_body_says_not_of_its_bytes() -> None:
    stub = Stub()
    one = json.dumps({**QUERY, "current_task_context": {"a": 1, "b": 2}, "unknown": 1})
    two = json.dumps({"current_task_context": {"b": 2, "a": 1}, **QUERY}, indent=3)
    three = json.dumps({**QUERY, "current_task_context": {"a": 1, "b": 3}})
    async with client_of(incorporator(stub)) as client:
        for content in (one, two, three):
            headers = {**JSON, "Idempotency-Key": "k"}
            assert (await client.post("/incorporator/invoke", content=content, headers=headers)).status_code == 200
    first, second, third = (asked[1] for asked in stub.asked)
    assert first == second
    assert first.scope == "local /incorporator/invoke"
    assert first.fingerprint != third.fingerprint


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"title": "x" * 500}, 201),
        ({"title": "x" * 501}, 400),
        ({"title": ""}, 400),
        ({"title": "a\tb"}, 400),
        ({"bin": "elsewhere"}, 400),
        ({"tags": ["x"] * 64}, 201),
        ({"tags": ["x"] * 65}, 400),
        ({"tags": ["x" * 101]}, 400),
        ({"tags": None}, 400),
        ({"dsl_payload": []}, 400),
        ({"dsl_payload": None}, 201),
        ({"source": "importer"}, 201),
    ],
)
async def test_a_lesson_is_checked_at_the_door(change: dict[str, Any], status: int) -> None:
    draft = {"bin": "skills_base", "title": "t", "body": "b", **change}
    async with client_of(incorporator(Stub())) as client:
        assert (await client.post("/lessons", json=draft)).status_code == status
        assert (await client.post("/lessons/batch", json=[draft])).status_code == status


@pytest.mark.parametrize(("count", "status"), [(0, 400), (1, 201), (1_000, 201), (1_001, 400)])
async def test_a_batch_is_of_1_to_1000(count: int, status: int) -> None:
    draft = {"bin": "skills_base", "title": "t", "body": "b"}
    async with client_of(incorporator(Stub())) as client:
        assert (await client.post("/lessons/batch", json=[draft] * count)).status_code == status


@pytest.mark.parametrize("decision", ["approve", "edit", "reject", "disable"])
async def test_a_decision_may_have_no_body_or_an_empty_one(decision: str) -> None:
    async with client_of(incorporator(Stub())) as client:
        url = f"/lessons/{LESSON_ID}/{decision}"
        assert (await client.post(url)).status_code == 200
        assert (await client.post(url, json={})).status_code == 200
        assert (await client.post(url, json={"version": 2})).status_code == 409
        assert (await client.post(url, json={"version": 1})).status_code == 200


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
FIELDS = st.sampled_from(
    [
        "session_id",
        "problem_solving_step_ref",
        "problem_type",
        "current_task_context",
        "result_flag",
        "detail",
        "outcome_id",
        "bin",
        "title",
        "body",
        "tags",
        "dsl_payload",
        "source",
        "version",
        "reviewer",
    ]
)
BODIES = st.one_of(
    st.binary(max_size=200),
    ANY_JSON.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(FIELDS, ANY_JSON).map(lambda value: json.dumps(value).encode()),
    st.dictionaries(FIELDS, ANY_JSON).map(lambda value: json.dumps({**QUERY, **value}).encode()),
)
PATHS = st.sampled_from(
    [
        "/incorporator/invoke",
        "/incorporator/outcome",
        "/incorporator/match",
        "/lessons",
        "/lessons/batch",
        f"/lessons/{LESSON_ID}/edit",
        f"/lessons/{LESSON_ID}/approve",
    ]
)
APP = incorporator(Stub())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=BODIES, path=PATHS)
async def test_no_body_is_a_fault_of_the_service(body: bytes, path: str) -> None:
    async with client_of(APP) as client:
        answer = await client.post(path, content=body)
    assert answer.status_code in (200, 201, 400, 404, 409)


@settings(max_examples=300, deadline=None)
@given(depth=st.integers(28, 36), noise=st.text('[]{}"\\', max_size=8))
def test_depth_is_counted_exactly_and_outside_of_strings(depth: int, noise: str) -> None:
    value: Any = noise
    for level in range(depth):
        value = [value] if level % 2 else {noise: value, "z": []}
    body = json.dumps(value).encode()
    assert too_deep(body) == (_depth(value) > 32)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0
