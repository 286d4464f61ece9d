"""The Idempotency-Key header."""

from __future__ import annotations

import json

import pytest

from tests.unit.http.clients import JSON, QUERY, client_of, incorporator, invoke
from tests.unit.http.stubs import Stub


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
