"""People who mean harm, against the real service: data stay data, log lines stay lines, secrets stay secret."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.calls import UPLOAD_LESSON, answered, failed, promoted, query
from tests.e2e.conftest import StartService
from tests.e2e.service import INCORPORATOR, PROJECT, until
from tests.fakes.anthropic_stand_in import Answer, AnthropicStandIn, Request, message
from tests.fakes.examples import EXPANDING
from tests.unit.attacks.corpus import (
    AGAINST_DATABASES,
    AGAINST_PROMPTS,
    AGAINST_TEMPLATES,
    EVERY_TEXT,
)

#: What a title may not hold is refused at the door.
TITLES = [one for one in EVERY_TEXT if len(one) <= 500 and not re.search(r"[\x00-\x1f\x7f-\x9f]", one)]


def lessons_of(texts: list[str], **more: Any) -> list[dict[str, Any]]:
    return [{"bin": "skills_base", "title": text, "body": text, "tags": [text[:100]], **more} for text in texts]


def test_no_lesson_leaves_its_folder(start_service: StartService) -> None:
    service = start_service()
    before = {path for path in service.home.parent.rglob("*") if "lessons" not in path.parts}
    with service.client() as client:
        added = answered(client.post("/lessons/batch", json=lessons_of(TITLES)), 201)
        for lesson in added:
            answered(client.post(f"/lessons/{lesson['id']}/approve", json={}))
    files = [path for path in (service.home / "lessons").rglob("*") if path.name != ".catalog-revision"]
    folders = [path for path in files if path.is_dir() and path.parent.name == "skills_base"]
    assert len(folders) == len(TITLES)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one.name) and len(one.name) <= 64 for one in folders)
    assert not any(path.is_symlink() for path in files)
    assert {path.name for path in files if path.is_file()} == {"SKILL.md"}
    new = {path for path in service.home.parent.rglob("*") if "lessons" not in path.parts} - before
    assert {path.suffix for path in new} <= {".db", ".db-wal", ".db-shm"}


def test_a_filter_finds_what_it_says_and_is_no_pattern(start_service: StartService) -> None:
    service = start_service()
    with service.client() as client:
        plain = [{**UPLOAD_LESSON, "title": "nothing special", "body": "abc", "tags": ["abc"]}]
        answered(client.post("/lessons/batch", json=[*plain, *lessons_of(AGAINST_DATABASES)]), 201)
        for text in AGAINST_DATABASES:
            holding = {one for one in AGAINST_DATABASES if text in one}
            found = answered(client.get("/lessons", params={"q": text}))
            assert {one["title"] for one in found} == holding, text
            tagged = answered(client.get("/lessons", params={"tag": text}))
            assert [one["title"] for one in tagged] == [text]
            assert answered(client.get("/feedback", params={"session_id": text, "lesson_skill_id": text})) == []
            assert answered(client.get("/feedback/metrics/usage", params={"lesson_skill_id": text}))["by_lesson"] == {}
        assert len(answered(client.get("/lessons", params={"limit": 1000}))) == 1 + len(AGAINST_DATABASES)


def test_an_erased_lesson_is_in_no_answer_and_no_file_of_the_databases(start_service: StartService) -> None:
    service = start_service()
    key = {"Idempotency-Key": "k1"}
    with service.client() as client:
        drafts = [{**UPLOAD_LESSON, "body": "zanzibar"}, {**UPLOAD_LESSON, "title": "Another"}]
        secret, other = answered(client.post("/lessons/batch", json=drafts, headers=key), 201)
        answered(client.post(f"/lessons/{secret['id']}/approve", json={}))
        outcome = answered(client.post("/incorporator/invoke", json=query(), headers=key))
        assert outcome["match_result"]["raw_payload"]["body"] == "zanzibar"
        body = {"session_id": "s1", "problem_solving_step_ref": "step-17", "result_flag": "success"}
        told = answered(client.post("/incorporator/outcome", json=body, headers=key))
        assert client.delete(f"/lessons/{secret['id']}").status_code == 204
        again = client.post("/incorporator/invoke", json=query(), headers=key)
        assert (answered(again, 404)["type"], "zanzibar" in again.text) == ("/problems/answer-erased", False)
        batch = client.post("/lessons/batch", json=drafts, headers=key)
        assert answered(batch, 404)["type"] == "/problems/answer-erased"
        assert [one["id"] for one in answered(client.get("/lessons"))] == [other["id"]]
        assert answered(client.post("/incorporator/outcome", json=body, headers=key)) == told
    for database in service.home.glob("*.db"):
        with closing(sqlite3.connect(database)) as connection:
            assert not [line for line in connection.iterdump() if "zanzibar" in line]


@pytest.mark.parametrize("text", EXPANDING)
def test_a_query_that_grows_by_normalising_is_answered_at_any_length_that_is_taken(
    start_service: StartService, text: str
) -> None:
    service = start_service()
    with service.client() as client:
        lesson_id = promoted(client, body=text * 7_000 + " and words" * 4_000)  # by itself the first is refused
        for length in (1_800, 7_000):  # the longest that a URL has room for
            asked = {"q": text * length}
            assert [one["id"] for one in answered(client.get("/lessons", params=asked))] == [lesson_id]
            assert [one["id"] for one in answered(client.get("/lessons/search", params=asked))] == [lesson_id]


@pytest.fixture
def model() -> Iterator[AnthropicStandIn]:
    with AnthropicStandIn() as stand_in:
        yield stand_in


def by_model(model: AnthropicStandIn, **more: str) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "sk-test-0123456789",
        "ANTHROPIC_BASE_URL": model.url,
        "MG_MATCH_STRATEGY_MODE": "llm_only",
        **more,
    }


def test_a_model_that_obeys_the_attacker_still_answers_a_candidate_and_an_allowed_action(
    start_service: StartService, model: AnthropicStandIn
) -> None:
    service = start_service(by_model(model, MG_ALLOWED_ACTIONS="retry_with_backoff,wait"))
    secret = ""

    def obeys(request: Request) -> Answer:
        if "lesson_id" in json.dumps(request.body["output_config"]):
            return message(json.dumps({"lesson_id": secret, "confidence": 1}))
        return message(json.dumps({"action": "delete_everything", "instruction": "rm -rf /", "lesson_id": secret}))

    model.will(obeys)
    with service.client() as client:
        secret = str(answered(client.post("/lessons", json={**UPLOAD_LESSON, "title": "not promoted"}), 201)["id"])
        own = promoted(client, dsl_payload={"action": "delete_everything", "instruction_template": "rm -rf /"})
        outcome = answered(client.post("/incorporator/invoke", json=query()))
    assert (outcome["match_result"]["matched_entity_id"], outcome["match_result"]["fallback_reason"]) == (
        own,
        "unknown_lesson",
    )
    assert (outcome["source"], outcome["action"]) == ("llm", "apply_recommended_lesson")
    assert outcome["instruction"] == UPLOAD_LESSON["title"]
    assert outcome["recommended_action_payload"] == {"llm_response": None}


def test_what_lessons_and_callers_say_reaches_the_model_as_data_alone(
    start_service: StartService, model: AnthropicStandIn
) -> None:
    service = start_service(by_model(model))
    model.will(message("I would rather not say."))
    with service.client() as client:
        lesson_id = promoted(client, dsl_payload=None)
        for number, text in enumerate([*AGAINST_PROMPTS, *AGAINST_TEMPLATES]):
            answered(client.post(f"/lessons/{lesson_id}/edit", json={"title": "x", "body": f"upload {text}"}))
            data = {text: [text], "operation": text}
            body = query(f"s-{number}", system_state=data, additional_caller_data=data, current_task_context=data)
            answered(client.post("/incorporator/invoke", json=body))
    systems = {json.dumps(request.body["system"]) for request in model.requests}
    schemas = {json.dumps(request.body["output_config"]) for request in model.requests}
    assert (len(systems), len(schemas)) == (2, 2)
    for request in model.requests:
        [said] = request.body["messages"]
        opened, data, closed = said["content"].split("\n")
        assert re.fullmatch(r"<data-[0-9a-f]{16}>", opened)
        assert closed == opened.replace("<", "</")
        assert "<" not in data
        assert json.loads(data)


_EVENT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ +[a-z_.]+: |(INFO|WARNING|ERROR):  +|  \| )")


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_no_request_forges_a_line_of_the_log(start_service: StartService, log_format: str) -> None:
    env = {"MG_LOG_LEVEL": "DEBUG", "MG_LOG_FORMAT": log_format, "MG_FAILURE_THRESHOLD_X": "1"}
    service = start_service(env, options=["--log-level", "info", "--forwarded-allow-ips", "*"])
    with service.client() as client:
        promoted(client)
        for text in EVERY_TEXT:
            body = {"session_id": text, "problem_solving_step_ref": text, "problem_type": text}
            client.post("/incorporator/invoke", json=body)
            client.post("/incorporator/outcome", json={**body, "result_flag": "failure", "outcome_id": text})
            client.post("/lessons", json=lessons_of([text])[0], headers={"Idempotency-Key": "k"})
            client.get("/lessons", params={"q": text, text[:50]: text})
            client.get(f"/lessons/{httpx.QueryParams({'x': text[:200]})}")
            sent = {"X-Forwarded-For": text[:200].encode("utf-8", "replace").replace(b"\r", b"").replace(b"\n", b"")}
            try:
                client.get("/lessons", headers=sent)  # type: ignore[arg-type]
            except httpx.HTTPError as error:
                assert isinstance(error, httpx.LocalProtocolError | httpx.RemoteProtocolError)  # noqa: PT017
        client.get("/lessons", headers={"X-Forwarded-For": b"\x9b31m\x85forged\xe2\x80\xa8forged"})  # type: ignore[arg-type]
    lines = service.log().splitlines(keepends=True)
    assert len(lines) > 2 * len(EVERY_TEXT)
    for line in lines:
        assert line.endswith("\n"), line
        assert line[:-1].isprintable(), line
        assert _EVENT.match(line) or json.loads(line)["level"], line
    assert not any(line.startswith(("2026-10-22", "forged")) for line in lines)


SECRETS = {
    "MG_API_KEYS": "root@admin:key-of-root-0123",
    "MG_HIL_MODE": "http",
    "MG_WORKFLOW_ENGINE_AUTH_HEADER": "Bearer engine-token-0123",
    "MG_WEBHOOK_SECRET": "whsec_c2VjcmV0LTAxMjM0NTY3ODk=",
    "ANTHROPIC_API_KEY": "sk-model-key-0123",
    "ANTHROPIC_BASE_URL": "http://gateway:gateway-pass-0123@127.0.0.1:1",
    "MG_FAILURE_THRESHOLD_X": "1",
    "MG_LOG_LEVEL": "DEBUG",
}
HIDDEN = (
    "key-of-root-0123",
    "hil-pass-0123",
    "hil-token-0123",
    "engine-token-0123",
    "c2VjcmV0LTAxMjM0NTY3ODk",
    "sk-model-key-0123",
    "gateway-pass-0123",
)


@pytest.mark.parametrize(
    "human",
    [
        {"MG_HIL_BASE_URL": "http://reviewer:hil-pass-0123@127.0.0.1:1"},
        {"MG_HIL_BASE_URL": "http://127.0.0.1:1", "MG_HIL_AUTH_HEADER": "Bearer hil-token-0123"},
    ],
    ids=["with a user in the address", "with a header"],
)
def test_no_secret_shows_in_an_answer_or_in_the_log(start_service: StartService, human: dict[str, str]) -> None:
    service = start_service({**SECRETS, **human}, options=["--log-level", "debug"])
    said = []
    with service.client(Authorization="Bearer key-of-root-0123") as client:
        promoted(client, dsl_payload=None)
        failed(client, 1)
        until(lambda: answered(client.get("/escalations"))[0]["last_error"])
        paths = ("/health/ready", "/escalations", "/feedback", "/lessons", "/schema")
        said += [client.get(path).text for path in paths]
        said.append(client.get("/lessons", headers={"Authorization": "Bearer key-of-root-01234"}).text)
        said.append(client.post("/incorporator/invoke", content=b"key").text)
    for text in (*said, service.log()):
        assert [one for one in HIDDEN if one in text] == []


@pytest.mark.parametrize(
    ("variable", "dsn"),
    [
        ("MG_TIDB_DSN", "postgresql+asyncpg://mg:pass%2Dof-db-0123@127.0.0.1:1/x"),
        ("MG_FEEDBACK_TIDB_DSN", "mysql+asyncmy://mg:pass-of-db-0123@127.0.0.1:1/x"),
        ("MG_TIDB_DSN", "postgresql://mg:2:pass-of-db-0123@127.0.0.1:port-of-db-0123/x"),
    ],
)
def test_a_database_that_cannot_be_used_shows_no_password(tmp_path: Path, variable: str, dsn: str) -> None:
    env = {"PATH": "/usr/bin", "PYTHONPATH": str(PROJECT), variable: dsn, "MG_LOG_LEVEL": "DEBUG"}
    command = [sys.executable, "-m", "uvicorn", INCORPORATOR, "--port", "0", "--log-level", "debug"]
    try:
        run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=12, check=False)
        said = run.stdout + run.stderr
        assert run.returncode != 0
    except subprocess.TimeoutExpired as waiting:
        said = (waiting.stderr or b"").decode()
    assert said
    assert "of-db-0123" not in said
