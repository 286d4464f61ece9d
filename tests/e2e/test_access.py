"""Who gets in, on real server processes: keys and roles, this machine alone without keys, hosts, and who did what."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest

from tests.e2e.calls import UPLOAD_LESSON, answered, failed, invoke, query
from tests.e2e.conftest import StartService
from tests.e2e.service import Service, until

ROLES = ("pipeline", "reader", "reviewer", "admin")
PLAIN = {role: f"plain-{role}-key-0123456789" for role in ROLES}
HASHED = "hashed-key-0123456789"
KEYS = ",".join(
    [
        f"pipeline:{PLAIN['pipeline']}",
        f"watcher@reader:{PLAIN['reader']}",
        f"ann@reviewer:{PLAIN['reviewer']}",
        f"root@admin:{PLAIN['admin']}",
        f"bob@reviewer:sha256:{hashlib.sha256(HASHED.encode()).hexdigest()}",
    ]
)
OUTCOME = {"problem_solving_step_ref": "step-17", "session_id": "s1", "result_flag": "success"}

P, R, V, A = ROLES
EVERYBODY = {P, R, V, A}
READERS = {R, V, A}
TABLE: list[tuple[str, str, Any, set[str]]] = [
    ("POST", "/incorporator/invoke", query(), {P, A}),
    ("POST", "/incorporator/outcome", OUTCOME, {P, A}),
    ("POST", "/incorporator/match", query(), {P, A}),
    ("GET", "/incorporator/misses", None, EVERYBODY),
    ("GET", "/feedback", None, EVERYBODY),
    ("GET", "/feedback/{entry_id}", None, EVERYBODY),
    ("GET", "/feedback/metrics/usage", None, EVERYBODY),
    ("GET", "/feedback/metrics/success-rate", None, EVERYBODY),
    ("GET", "/feedback/metrics/failure-rate", None, EVERYBODY),
    ("GET", "/escalations", None, READERS),
    ("GET", "/escalations/{escalation_id}", None, READERS),
    ("POST", "/escalations/{escalation_id}/retry", None, {V, A}),
    ("POST", "/lessons", UPLOAD_LESSON, {V, A}),
    ("POST", "/lessons/batch", [UPLOAD_LESSON], {V, A}),
    ("GET", "/lessons", None, READERS),
    ("GET", "/lessons/search?q=uploads", None, READERS),
    ("GET", "/lessons/review/queue", None, READERS),
    ("GET", "/lessons/{lesson_id}", None, READERS),
    ("GET", "/lessons/{lesson_id}/log", None, READERS),
    ("POST", "/lessons/{lesson_id}/edit", {}, {V, A}),
    ("POST", "/lessons/{lesson_id}/disable", {}, {V, A}),
    ("POST", "/lessons/{lesson_id}/approve", {}, {V, A}),
    ("POST", "/lessons/{lesson_id}/reject", {}, {V, A}),
    ("GET", "/schema", None, READERS),
    ("GET", "/schema/openapi.json", None, READERS),
    ("GET", "/schema/openapi.yaml", None, READERS),
    ("DELETE", "/lessons/{lesson_id}", None, {A}),
]
OPEN = ["/health", "/health/ready", "/problems", "/problems/{code}", "/schema/docs"]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def with_key(service: Service, key: str) -> httpx.Client:
    return service.client(**bearer(key))


def one_of_everything(service: Service) -> dict[str, str]:
    """A promoted lesson that has failed once and escalated; the ids."""
    with with_key(service, PLAIN["admin"]) as client:
        lesson = answered(client.post("/lessons", json=UPLOAD_LESSON), 201)
        answered(client.post(f"/lessons/{lesson['id']}/approve", json={}))
        entry = failed(client, 1)[0]
        invoke(client)
        [escalation] = answered(client.get("/escalations"))
    return {"lesson_id": lesson["id"], "entry_id": entry["id"], "escalation_id": escalation["id"], "code": "no-match"}


def test_every_route_by_every_role(start_service: StartService) -> None:
    service = start_service({"MG_API_KEYS": KEYS, "MG_FAILURE_THRESHOLD_X": "1"}, options=["--log-level", "debug"])
    ids = one_of_everything(service)
    with service.client() as client:
        for method, template, body, roles in TABLE:
            path = template.format(**ids)
            for role in sorted(set(ROLES) - roles):
                refused = client.request(method, path, json=body, headers=bearer(PLAIN[role]))
                assert refused.status_code == 403, (method, path, role)
                assert refused.json()["type"] == "/problems/forbidden"
            for headers in ({}, bearer("wrong"), {"Authorization": f"Basic {PLAIN['admin']}"}):
                refused = client.request(method, path, json=body, headers=headers)
                assert refused.status_code == 401, (method, path, headers)
                assert refused.headers["www-authenticate"] == 'Bearer realm="memorygrid"'
            for role in sorted(roles):
                answer = client.request(method, path, json=body, headers=bearer(PLAIN[role]))
                allowed = {200, 201, 204, 409} | ({404} if method == "DELETE" else set())
                assert answer.status_code in allowed, (method, path, role, answer.text)
        for path in OPEN:
            assert client.get(path.format(**ids), headers=bearer("wrong")).status_code == 200
        described = answered(client.get("/schema", headers=bearer(PLAIN["reader"])))["paths"]
    tabled = {(method, path.partition("?")[0]) for method, path, _, _ in TABLE} | {("GET", path) for path in OPEN}
    assert {(method.upper(), path) for path, methods in described.items() for method in methods} == tabled
    assert not any(key in service.log() for key in (*PLAIN.values(), HASHED))


def test_a_stranger_learns_nothing_of_paths_methods_and_what_is_wrong(start_service: StartService) -> None:
    service = start_service({"MG_API_KEYS": KEYS})
    (service.home / "config" / "dsl_match_rules.json").write_text("broken")
    with service.client() as stranger, with_key(service, PLAIN["pipeline"]) as known:
        for method, path in (("GET", "/nope"), ("PUT", "/lessons"), ("OPTIONS", "/lessons"), ("HEAD", "/lessons")):
            assert stranger.request(method, path).status_code == 401
        until(lambda: "line 1" in (answered(known.get("/health/ready"))["checks"]["rules"] or ""))
        assert stranger.get("/health/ready").json() == {"status": "degraded"}


def test_a_hashed_key_is_taken_and_its_hash_is_not(start_service: StartService) -> None:
    service = start_service({"MG_API_KEYS": KEYS})
    digest = hashlib.sha256(HASHED.encode()).hexdigest()
    with service.client() as client:
        assert client.get("/lessons", headers=bearer(HASHED)).status_code == 200
        for wrong in (f"sha256:{digest}", digest, HASHED.upper(), HASHED[:-1], HASHED + "x"):
            assert client.get("/lessons", headers=bearer(wrong)).status_code == 401


def test_every_decision_logs_whose_key_it_was(start_service: StartService) -> None:
    service = start_service({"MG_API_KEYS": KEYS, "MG_FAILURE_THRESHOLD_X": "1", "MG_REVIEWER_PATH_MODE": "auto_only"})
    admin, ann, bob = (with_key(service, key) for key in (PLAIN["admin"], PLAIN["reviewer"], HASHED))
    with admin, ann, bob:
        lesson = answered(ann.post("/lessons", json={**UPLOAD_LESSON, "source": "root"}), 201)
        path = f"/lessons/{lesson['id']}"
        answered(bob.post(f"{path}/approve", json={"reviewer": "ann", "note": "looks right"}))
        failed(admin, 1)
        for client, decision in ((ann, "edit"), (bob, "disable"), (admin, "approve"), (ann, "reject")):
            answered(client.post(f"{path}/{decision}", json={"reviewer": "somebody else"}))
        log = answered(ann.get(f"{path}/log"))
        assert admin.delete(path).status_code == 204
    assert [(one["event"], one["actor"]) for one in log] == [
        ("injected", "ann"),
        ("approved", "bob"),
        ("runtime_failure_disabled", "escalation"),
        ("edited", "ann"),
        ("disabled", "bob"),
        ("approved", "root"),
        ("rejected", "ann"),
    ]
    assert log[1]["detail"] == {"reviewer": "ann", "note": "looks right"}


ELSEWHERE: list[dict[str, str]] = [
    {"X-Forwarded-For": "8.8.8.8"},
    {"X-Forwarded-For": "127.0.0.1, 8.8.8.8"},
    {"X-Forwarded-For": "8.8.8.8, 127.0.0.1"},
    {"X-Forwarded-For": "8.8.8.8:80, [::1]:90"},
    {"X-Forwarded-For": "unknown"},
    {"X-Forwarded-For": ""},
    {"X-Forwarded-For": "localhost"},
    {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "8.8.8.8"},
    {"X-Forwarded-For": "::1", "Forwarded": "for=127.0.0.1;proto=http, for=8.8.8.8"},
    {"Forwarded": 'for="[2001:db8::1]:4711"'},
    {"Forwarded": "for=_hidden"},
    {"Forwarded": "proto=https;host=localhost"},
    {"X-Real-IP": "10.0.0.1"},
    {"True-Client-IP": "10.0.0.1"},
    {"Via": "1.1 proxy"},
    {"X-Forwarded-Host": "grid.example"},
    {"Host": "grid.example"},
    {"Host": "127.0.0.1.nip.example"},
    {"Origin": "https://grid.example"},
    {"Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("trusted", ["127.0.0.1", "*"])
def test_without_keys_whoever_comes_through_a_proxy_from_elsewhere_is_refused(
    start_service: StartService, trusted: str
) -> None:
    service = start_service(options=["--forwarded-allow-ips", trusted])
    with service.client() as client:
        for headers in ELSEWHERE:
            refused = client.get("/lessons", headers=headers)
            assert refused.status_code == 403, headers
            assert "MG_API_KEYS" in refused.json()["detail"]
        twice = [("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-For", "8.8.8.8")]
        for pairs in (twice, twice[::-1]):
            assert client.get("/lessons", headers=pairs).status_code == 403
        for headers in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"Host": "localhost"}):
            assert client.get("/lessons", headers=headers).status_code == 200
        assert client.get("/health", headers={"X-Forwarded-For": "8.8.8.8"}).status_code == 200


def test_allowed_hosts(start_service: StartService) -> None:
    service = start_service({"MG_API_KEYS": KEYS, "MG_ALLOWED_HOSTS": "grid.example,*.inner.example"})
    with with_key(service, PLAIN["reader"]) as client:
        for host, status in (
            ("grid.example", 200),
            ("GRID.example:443", 200),
            ("a.inner.example", 200),
            ("inner.example", 403),
            ("grid.example.evil.example", 403),
            ("127.0.0.1", 403),
            ("", 403),
        ):
            assert client.get("/lessons", headers={"Host": host}).status_code == status, host
            assert client.get("/health", headers={"Host": host}).status_code == 200
