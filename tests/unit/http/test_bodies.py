"""Strict reading of bodies: nothing that a client sends is a fault of the service."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator

import pytest

from tests.unit.http.clients import JSON, QUERY, client_of, incorporator, invoke
from tests.unit.http.stubs import Stub


def with_context(text: str) -> bytes:
    return json.dumps(QUERY).encode()[:-1] + b', "current_task_context": {"x": ' + text.encode() + b"}}"


def with_ignored(text: str) -> bytes:
    return json.dumps(QUERY).encode()[:-1] + b', "nobody_reads": ' + text.encode() + b"}"


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
        with_ignored("1e400"),
        with_ignored("[-1.5E+0400]"),
        with_ignored("1" * 250 + "e99"),
        with_ignored("9" * 5_000),
        with_ignored('{"a": "\\u0000"}'),
        with_ignored("[" * 40 + "]" * 40),
        with_ignored("x").replace(b"x", b'"\xff"'),
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
    ("content", "path", "message"),
    [
        (with_context('"\\ud800"'), "$.current_task_context.x", "must not hold half of a surrogate pair"),
        (with_context('["a", "b\\udc00"]'), "$.current_task_context.x[1]", "must not hold half of a surrogate pair"),
        (with_context('{"\\ud800": 1}'), "$.current_task_context.x", "must not hold half of a surrogate pair in a key"),
        (with_ignored('"\\ud800"'), "$.nobody_reads", "must not hold half of a surrogate pair"),
        (with_context("NaN"), "$.current_task_context.x", "must not be NaN"),
        (with_context("Infinity"), "$.current_task_context.x", "must not be infinite or a number beyond a double"),
        (
            with_context("[0, -Infinity]"),
            "$.current_task_context.x[1]",
            "must not be infinite or a number beyond a double",
        ),
        (with_context("1e400"), "$.current_task_context.x", "must not be infinite or a number beyond a double"),
        (with_ignored("[1, NaN]"), "$.nobody_reads[1]", "must not be NaN"),
    ],
)
async def test_what_python_would_read_and_json_does_not_have_is_named_with_its_place(
    content: bytes, path: str, message: str
) -> None:
    answer = await invoke(content)
    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"path": path, "message": message}]
    assert path in answer.json()["detail"]


async def test_a_fault_below_a_key_that_nobody_can_send_back_is_named_all_the_same() -> None:
    answer = await invoke(with_context('{"\\ud800": {"y": "\\ud800"}}'))
    assert answer.status_code == 400
    assert answer.json()["errors"][1]["path"] == "$.current_task_context.x.\\ud800.y"


async def test_what_is_no_json_at_all_is_told_with_the_place_of_the_byte() -> None:
    answer = await invoke(b'{"session_id": x}')
    assert answer.json()["detail"] == "the body is not JSON"
    assert answer.json()["errors"] == [{"path": "$", "message": "invalid character (byte 15)"}]


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
        with_ignored('"1e400 "'),
        with_ignored("1e308"),
        with_ignored("0.1e-400"),
        with_ignored('"9e9999"'),
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


async def test_all_that_is_wrong_is_named_at_once_with_what_would_be_right() -> None:
    draft = {"bin": "elsewhere", "title": "", "tags": ["a", 1], "dsl_payload": "x"}
    async with client_of(incorporator(Stub())) as client:
        one = (await client.post("/lessons", json=draft)).json()
        many = (await client.post("/lessons/batch", json=[{**draft, "body": "b"}, {"bin": "skills_base"}])).json()
    wrong = {error["path"]: error["message"] for error in one["errors"]}
    assert list(wrong) == ["$.bin", "$.title", "$.body", "$.tags[1]", "$.dsl_payload"]
    assert wrong["$.bin"] == "must be one of: skills_base, knowledge_base"
    assert wrong["$.body"] == "is missing"
    assert {"$[0].bin", "$[0].tags[1]", "$[1].title", "$[1].body"} <= {error["path"] for error in many["errors"]}
    assert "and 2 more" in one["detail"]


async def test_the_list_of_what_is_wrong_is_bounded_and_echoes_little() -> None:
    draft = {"bin": "x" * 100_000, "title": 1}
    async with client_of(incorporator(Stub())) as client:
        answer = await client.post("/lessons/batch", json=[draft] * 5 + [{"title": 1}] * 900)
    assert answer.status_code == 400
    assert len(answer.json()["errors"]) == 20
    assert len(answer.content) < 5_000


async def test_a_long_key_does_not_make_a_closer_look_slow() -> None:
    body = with_ignored('{"' + "k" * 400_000 + '": [' + "1," * 100_000 + '1, "\\u0000"]}')
    start = time.process_time()
    answer = await invoke(body)
    assert answer.json()["errors"][0]["message"] == "must not hold a NUL character"
    assert time.process_time() - start < 5
    assert len(answer.content) < 5_000
