"""Whatever comes in: an answer of the documented kind, and never a fault of the service."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entrypoints.http.strictness import too_deep
from tests.unit.http.clients import QUERY, client_of, incorporator
from tests.unit.http.examples import LESSON_ID
from tests.unit.http.stubs import Stub

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
