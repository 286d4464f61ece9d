"""Lessons and decisions as they come in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.http.clients import client_of, incorporator
from tests.unit.http.examples import LESSON_ID
from tests.unit.http.stubs import Stub


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"title": "x" * 500}, 201),
        ({"title": "x" * 501}, 400),
        ({"title": ""}, 400),
        ({"title": " "}, 400),
        ({"title": "\u2003\u00a0"}, 400),
        ({"title": " t "}, 201),
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


async def test_a_title_of_spaces_alone_is_told_what_is_wrong_with_it() -> None:
    async with client_of(incorporator(Stub())) as client:
        answer = await client.post("/lessons", json={"bin": "skills_base", "title": "  ", "body": "b"})
        edit = await client.post(f"/lessons/{LESSON_ID}/edit", json={"title": "  "})
    for one in (answer, edit):
        (error,) = one.json()["errors"]
        assert error == {
            "path": "$.title",
            "message": "Expected `str` without control characters, and not only of spaces",
        }


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
        for version in (2, 0, -1, 2**40):
            assert (await client.post(url, json={"version": version})).status_code == 409
        assert (await client.post(url, json={"version": 1})).status_code == 200


async def test_a_new_lesson_is_where_the_answer_says() -> None:
    async with client_of(incorporator(Stub())) as client:
        for path in ("/lessons", "/lessons/"):
            created = await client.post(path, json={"bin": "skills_base", "title": "t", "body": "b"})
            assert created.headers["location"] == f"/lessons/{LESSON_ID}"
            assert (await client.get(created.headers["location"])).json() == created.json()


async def test_a_text_that_normalising_makes_far_longer_is_refused_wherever_it_comes_in() -> None:
    long, draft = "\ufdfa" * 340_000, {"bin": "skills_base", "title": "t", "body": "b"}
    calls: list[tuple[str, Any, str]] = [
        ("/lessons", {**draft, "body": long}, "$.body"),
        ("/lessons", {**draft, "title": long[:500]}, "$.title"),
        ("/lessons/batch", [draft, {**draft, "body": long}], "$[1].body"),
        (f"/lessons/{LESSON_ID}/edit", {"body": long}, "$.body"),
        (f"/lessons/{LESSON_ID}/edit", {"title": long[:500]}, "$.title"),
    ]
    async with client_of(incorporator(Stub())) as client:
        for path, body, place in calls:
            answer = await client.post(path, content=json.dumps(body, ensure_ascii=False).encode())
            assert answer.status_code == 400, path
            (error,) = answer.json()["errors"]
            assert error["path"] == place
            assert "when it is normalised for comparison (NFKC): at most" in error["message"]
