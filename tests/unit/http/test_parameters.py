"""Query parameters and pages."""

from __future__ import annotations

import pytest

from tests.unit.http.clients import client_of, incorporator
from tests.unit.http.examples import LESSON_ID
from tests.unit.http.stubs import Stub


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


async def test_all_bad_parameters_are_named_at_once_with_what_would_be_right() -> None:
    async with client_of(incorporator(Stub())) as client:
        feedback = (await client.get("/feedback/?limit=0&result_flag=maybe&nope=1&limit=2")).json()
        lessons = (await client.get("/lessons?limit=0&status=maybe&bin=null")).json()
        search = (await client.get("/lessons/search?top_k=x")).json()
    assert [error["path"] for error in feedback["errors"]] == ["nope", "limit"]
    assert feedback["errors"][0]["message"].endswith("lesson_skill_id, session_id, result_flag, limit, cursor")
    wrong = {error["path"]: error["message"] for error in lessons["errors"]}
    assert wrong["status"] == "must be one of: pending_review, promoted, rejected, disabled"
    assert wrong["limit"] == "Expected `int` >= 1"
    assert {error["path"] for error in search["errors"]} == {"q", "top_k"}


@pytest.mark.parametrize("path", ["/health", "/lessons/review/queue", f"/lessons/{LESSON_ID}"])
async def test_a_route_without_parameters_takes_none(path: str) -> None:
    async with client_of(incorporator(Stub())) as client:
        assert (await client.get(f"{path}?x=1")).status_code == 400


async def test_an_empty_filter_is_an_absent_one() -> None:
    stub = Stub()
    async with client_of(incorporator(stub)) as client:
        answer = await client.get("/feedback/?lesson_skill_id=&session_id=&result_flag=&limit=&cursor=")
    assert answer.status_code == 200
    where, _, cursor = stub.asked[0]
    assert (where.lesson_skill_id, where.session_id, where.result_flag, cursor) == (None, None, None, None)


async def test_the_link_leads_through_all_pages_with_the_same_filters() -> None:
    stub = Stub()
    async with client_of(incorporator(stub)) as client:
        first = await client.get("/feedback/", params={"session_id": "s 1&x", "limit": 7})
        second = await client.get(first.links["next"]["url"])
    where, limit, cursor = stub.asked[-1]
    assert (where.session_id, limit, cursor) == ("s 1&x", 7, "next")
    assert "link" not in second.headers


async def test_a_search_without_similarities_says_so() -> None:
    stub = Stub()
    async with client_of(incorporator(stub)) as client:
        whole = await client.get("/lessons/search?q=retry")
        stub.degraded = "the vector index\r\ndoes not answer: \u00e9"
        part = await client.get("/lessons/search?q=retry")
    assert "memorygrid-degraded" not in whole.headers
    assert part.headers["memorygrid-degraded"] == "the vector index does not answer:"
    assert part.json() == whole.json()
