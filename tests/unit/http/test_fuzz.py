"""Whatever comes in: an answer of the documented kind, and never a fault of the service."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entrypoints.http.strictness import too_deep
from tests.fakes.examples import EXPANDING
from tests.unit.http.clients import QUERY, client_of, incorporator
from tests.unit.http.examples import LESSON_ID
from tests.unit.http.stubs import Stub

#: Also of characters that normalising makes several of.
TEXTS = st.text(max_size=30) | st.sampled_from([char * count for char in EXPANDING for count in (1, 30, 300)])
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
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


SEGMENTS = (st.text(max_size=30) | st.sampled_from(EXPANDING)).map(
    lambda text: quote(text.encode("utf-8", "replace"), safe="")
)
URLS = st.builds(
    lambda start, rest, query: "/".join([start, *rest]) + (f"?{query}" if query else ""),
    st.sampled_from(["", "/lessons", "/feedback", "/escalations", "/incorporator", "/schema", "/problems", "/health"]),
    st.lists(SEGMENTS, max_size=3),
    st.one_of(
        st.just(""),
        SEGMENTS,
        st.dictionaries(
            st.sampled_from(["q", "limit", "cursor", "bin", "tag", "status", "top_k", "session_id", "llm", "state"]),
            TEXTS.map(lambda text: text.encode("utf-8", "replace")),
        ).map(urlencode),
    ),
)
HEADERS = st.dictionaries(
    st.sampled_from(["Idempotency-Key", "Authorization", "Content-Type", "Origin", "Host", "Forwarded", "Accept"]),
    st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=30).map(
        lambda text: text.encode("latin-1")
    ),
    max_size=3,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(method=st.sampled_from(["GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS"]), url=URLS, headers=HEADERS)
async def test_no_path_query_or_header_is_a_fault_of_the_service(
    method: str, url: str, headers: dict[str, bytes]
) -> None:
    async with client_of(APP) as client:
        answer = await client.request(method, f"http://127.0.0.1{url or '/'}", headers=headers)  # type: ignore[arg-type]
    assert answer.status_code < 500
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert method == "HEAD" or answer.json()["type"].startswith("/problems/")
