"""Who gets in, and what each role may do: every route by every role."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest

from domain.errors import InvalidConfiguration
from entrypoints.http.access import AccessPolicy, Caller, Role
from tests.unit.http.clients import client_of, incorporator
from tests.unit.http.examples import ENTRY_ID, ESCALATION_ID, LESSON_ID
from tests.unit.http.stubs import Stub

KEYS = "pipeline:k-pipeline,reader:k-reader,ann@reviewer:k-reviewer,root@admin:k-admin"
QUERY = {"session_id": "s1", "problem_solving_step_ref": "step-17", "problem_type": "p"}
OUTCOME = {"session_id": "s1", "problem_solving_step_ref": "step-17", "result_flag": "success"}
DRAFT = {"bin": "skills_base", "title": "t", "body": "b"}

P, R, V, A = "pipeline", "reader", "reviewer", "admin"
ROUTES: list[tuple[str, str, Any, set[str]]] = [
    ("POST", "/incorporator/invoke", QUERY, {P, A}),
    ("POST", "/incorporator/outcome", OUTCOME, {P, A}),
    ("POST", "/incorporator/match", QUERY, {P, A}),
    ("GET", "/incorporator/misses", None, {P, R, V, A}),
    ("GET", "/feedback", None, {P, R, V, A}),
    ("GET", f"/feedback/{ENTRY_ID}", None, {P, R, V, A}),
    ("GET", "/feedback/metrics/usage", None, {P, R, V, A}),
    ("GET", "/feedback/metrics/success-rate", None, {P, R, V, A}),
    ("GET", "/feedback/metrics/failure-rate", None, {P, R, V, A}),
    ("GET", "/escalations", None, {R, V, A}),
    ("GET", f"/escalations/{ESCALATION_ID}", None, {R, V, A}),
    ("POST", f"/escalations/{ESCALATION_ID}/retry", None, {V, A}),
    ("POST", "/lessons", DRAFT, {V, A}),
    ("POST", "/lessons/batch", [DRAFT], {V, A}),
    ("GET", "/lessons", None, {R, V, A}),
    ("GET", "/lessons/search?q=upload", None, {R, V, A}),
    ("GET", "/lessons/review/queue", None, {R, V, A}),
    ("GET", f"/lessons/{LESSON_ID}", None, {R, V, A}),
    ("GET", f"/lessons/{LESSON_ID}/log", None, {R, V, A}),
    ("POST", f"/lessons/{LESSON_ID}/approve", None, {V, A}),
    ("POST", f"/lessons/{LESSON_ID}/edit", None, {V, A}),
    ("POST", f"/lessons/{LESSON_ID}/reject", None, {V, A}),
    ("POST", f"/lessons/{LESSON_ID}/disable", None, {V, A}),
    ("DELETE", f"/lessons/{LESSON_ID}", None, {A}),
    ("GET", "/schema", None, {R, V, A}),
    ("GET", "/schema/openapi.json", None, {R, V, A}),
    ("GET", "/schema/openapi.yaml", None, {R, V, A}),
]
OPEN = ["/health", "/health/ready", "/problems", "/problems/no-match", "/schema/docs"]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize(("method", "path", "body", "roles"), ROUTES)
async def test_every_route_lets_in_exactly_its_roles(method: str, path: str, body: Any, roles: set[str]) -> None:
    async with client_of(incorporator(Stub(), KEYS)) as client:
        for role in (P, R, V, A):
            answer = await client.request(method, path, json=body, headers=bearer(f"k-{role}"))
            assert (answer.status_code < 300) == (role in roles), (role, answer.text)
            assert answer.status_code < 300 or answer.status_code == 403
        for headers in ({}, bearer("wrong"), {"Authorization": "Basic k-admin"}, {"Authorization": "Bearer"}):
            answer = await client.request(method, path, json=body, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_the_table_above_names_every_route() -> None:
    async with client_of(incorporator(Stub())) as client:
        described = (await client.get("/schema")).json()["paths"]
    listed = {(method, path.partition("?")[0]) for method, path, _, _ in ROUTES}
    listed |= {("GET", path) for path in OPEN}
    ids = {"{lesson_id}": LESSON_ID, "{entry_id}": ENTRY_ID, "{escalation_id}": ESCALATION_ID, "{code}": "no-match"}
    found = set()
    for path, methods in described.items():
        filled = path
        for name, value in ids.items():
            filled = filled.replace(name, value)
        found |= {(method.upper(), filled) for method in methods}
    assert found == listed


@pytest.mark.parametrize("path", OPEN)
async def test_an_open_route_is_open_to_strangers_whatever_they_send(path: str) -> None:
    for keys in ("", KEYS):
        async with client_of(incorporator(Stub(), keys), "8.8.8.8") as client:
            for headers in ({}, bearer("wrong"), {"Host": "evil.example"}):
                assert (await client.get(path, headers=headers)).status_code == 200


async def test_a_stranger_learns_nothing_about_paths_and_methods() -> None:
    async with client_of(incorporator(Stub(), KEYS)) as client:
        for method, path in (("GET", "/nope"), ("PUT", "/lessons"), ("OPTIONS", "/lessons"), ("GET", "/schema")):
            assert (await client.request(method, path)).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "8.8.8.8"},
        {"X-Forwarded-For": "127.0.0.1, 8.8.8.8"},
        {"X-Forwarded-For": ""},
        {"X-Forwarded-For": "127.0.0.1,"},
        {"X-Forwarded-For": "127.0.0.1" + " " * 300},
        {"X-Real-IP": "10.0.0.1"},
        {"X-Real-IP": "127.0.0.1", "X-Forwarded-For": "::2"},
        {"CF-Connecting-IP": "9.9.9.9"},
        {"Via": "1.1 proxy"},
        {"X-Forwarded-Proto": "https"},
        {"X-Forwarded-Host": "localhost"},
        {"Forwarded": ""},
        {"Forwarded": "by=127.0.0.1;proto=http"},
        {"Forwarded": "for=127.0.0.1, for=8.8.8.8"},
        {"Forwarded": "for = 8.8.8.8"},
        {"Forwarded": 'for="[2001:db8::1]:80";proto=http'},
        {"Forwarded": "proto=http; For=unknown"},
        {"Host": "rebound.example"},
        {"Host": "127.0.0.1.evil.example:8001"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://[::1"},
        {"Host": "x" * 300},
        {"Host": ""},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
async def test_without_keys_a_request_from_elsewhere_is_refused(headers: dict[str, str]) -> None:
    async with client_of(incorporator(Stub())) as client:
        answer = await client.get("/lessons", headers=headers)
        assert answer.status_code == 403
        assert "MG_API_KEYS" in answer.json()["detail"]


@pytest.mark.parametrize("host", ["8.8.8.8", "10.1.2.3", "::2", "localhost", ""])
async def test_without_keys_a_client_elsewhere_is_refused(host: str) -> None:
    async with client_of(incorporator(Stub()), host) as client:
        assert (await client.get("/lessons")).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
async def test_without_keys_a_client_on_this_machine_may_do_all(host: str) -> None:
    async with client_of(incorporator(Stub()), host) as client:
        for name in ("127.0.0.1:8001", "localhost", "LOCALHOST:1", "[::1]:8001", "192.168.1.5:8001"):
            headers = {"Host": name, "X-Forwarded-For": "127.0.0.1", "Origin": "http://localhost:3000"}
            assert (await client.get("/lessons", headers=headers)).status_code == 200
        assert (await client.delete(f"/lessons/{LESSON_ID}")).status_code == 204


async def test_without_keys_a_connection_over_the_network_is_refused_whatever_a_trusted_header_says() -> None:
    app = incorporator(Stub())

    async def reached(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "server": ("192.168.1.5", 8001)}, receive, send)

    async with client_of(reached) as client:
        assert (await client.get("/lessons", headers={"X-Forwarded-For": "127.0.0.1"})).status_code == 403


async def test_allowed_hosts_hold_with_and_without_keys() -> None:
    for keys, headers in (("", {}), (KEYS, bearer("k-admin"))):
        async with client_of(incorporator(Stub(), keys, "grid.example, *.inner.example")) as client:
            for host, status in (
                ("grid.example:80", 200),
                ("a.inner.example", 200),
                ("inner.example", 403),
                ("x.example", 403),
            ):
                assert (await client.get("/lessons", headers={**headers, "Host": host})).status_code == status


async def test_a_hashed_key_is_as_good_as_a_plain_one() -> None:
    digest = hashlib.sha256(b"secret").hexdigest()
    async with client_of(incorporator(Stub(), f"ci@pipeline:sha256:{digest}")) as client:
        assert (await client.get("/feedback", headers=bearer("secret"))).status_code == 200
        assert (await client.get("/feedback", headers=bearer(f"sha256:{digest}"))).status_code == 401


async def test_the_logs_actor_is_the_keys_name_and_the_reviewer_a_detail() -> None:
    stub = Stub()
    async with client_of(incorporator(stub, KEYS)) as client:
        url = f"/lessons/{LESSON_ID}/approve"
        await client.post(url, json={"reviewer": "bob"}, headers=bearer("k-reviewer"))
    command = stub.asked[-1][0]
    assert (command.actor, command.reviewer) == ("ann", "bob")


@pytest.mark.parametrize(
    "keys",
    [
        "local@admin:secret",
        "escalation@admin:secret",
        "secret",
        "boss:secret",
        "a@:secret",
        "admin:",
        "admin:a b",
        "admin:x,reader:x",
        "admin:sha256:12",
    ],
)
def test_a_bad_list_of_keys_is_refused_without_showing_a_key(keys: str) -> None:
    with pytest.raises(InvalidConfiguration, match="MG_API_KEYS") as refused:
        AccessPolicy.parse(keys)
    assert "secret" not in refused.value.detail


def test_keys_without_a_name_are_told_apart() -> None:
    policy = AccessPolicy.parse("reader:a, reader:b")
    scope: Any = {"headers": [(b"authorization", b"bearer b")]}
    assert policy.caller(scope) == Caller("reader-2", Role.READER)


@pytest.mark.parametrize("keys", ["admin:a, admin@pipeline:b", "ann@admin:a, ann@reader:b"])
def test_keys_of_two_roles_do_not_go_by_one_name(keys: str) -> None:
    with pytest.raises(InvalidConfiguration, match="entry 2 has the name of an earlier entry of another role"):
        AccessPolicy.parse(keys)


async def test_readiness_shows_details_to_known_callers_only() -> None:
    async with client_of(incorporator(Stub(), KEYS)) as client:
        assert (await client.get("/health/ready")).json() == {"status": "ok"}
        known: httpx.Response = await client.get("/health/ready", headers=bearer("k-pipeline"))
        assert known.json() == {"status": "ok", "checks": {"object_store": None}}
