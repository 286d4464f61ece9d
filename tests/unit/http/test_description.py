"""The API's description: every route, every refusal, and examples that are true."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError
from typing import Any

import msgspec
import pytest

from domain.feedback.entry import OutcomeReport
from domain.incorporator.query import QueryInput
from entrypoints.http import description, escalations, examples, feedback, health, learner, problem_pages, review
from entrypoints.http import incorporator as incorporator_routes
from entrypoints.http.field_words import FIELDS, OWN
from entrypoints.http.lesson_wire import DraftBody
from entrypoints.http.operation import Operation
from entrypoints.http.problem_kinds import TABLE
from entrypoints.http.problems import Problem
from tests.unit.http.clients import client_of, incorporator
from tests.unit.http.stubs import Stub


async def described() -> Any:
    async with client_of(incorporator(Stub())) as client:
        return (await client.get("/schema/openapi.json")).json()


async def test_the_description_documents_every_refusal_as_a_problem() -> None:
    found = await described()
    assert found["openapi"] == "3.1.0"
    for methods in found["paths"].values():
        for one in methods.values():
            assert one["summary"]
            assert {"400", "405", "500", "503", "504"} <= set(one["responses"])
            for status, response in one["responses"].items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"]
    references = set(_references(found))
    assert references <= {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert json.dumps(found)


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [one for inner in value.values() for one in _references(inner)]
    return [one for inner in value for one in _references(inner)] if isinstance(value, list) else []


async def test_every_kind_of_problem_that_a_caller_may_meet_is_described_with_an_example() -> None:
    found = await described()
    shown: dict[str, Problem] = {}
    for methods in found["paths"].values():
        for one in methods.values():
            for status, response in one["responses"].items():
                for content in response.get("content", {}).values():
                    for code, example in content.get("examples", {}).items():
                        shown[code] = msgspec.convert(example["value"], Problem)
                        assert shown[code].status == int(status) == TABLE[code].status
    never_answered = {"not-found", "unavailable", "llm-unavailable", "delivery-failed", "headers-too-large"}
    assert set(TABLE) - set(shown) == never_answered


async def test_a_status_has_the_headers_that_it_comes_with() -> None:
    found = await described()
    responses = found["paths"]["/incorporator/invoke"]["post"]["responses"]
    assert "WWW-Authenticate" in responses["401"]["headers"]
    assert "Allow" in responses["405"]["headers"]
    assert all("Retry-After" in responses[status]["headers"] for status in ("409", "429", "503"))
    assert "Location" in found["paths"]["/lessons"]["post"]["responses"]["201"]["headers"]
    assert "Link" in found["paths"]["/feedback"]["get"]["responses"]["200"]["headers"]
    assert "Memorygrid-Degraded" in found["paths"]["/lessons/search"]["get"]["responses"]["200"]["headers"]


async def test_every_parameter_says_what_it_is() -> None:
    for methods in (await described())["paths"].values():
        for one in methods.values():
            for parameter in one["parameters"]:
                assert parameter["description"], (one["operationId"], parameter["name"])


@pytest.mark.parametrize(
    ("example", "shape"),
    [(examples.DRAFT, DraftBody), (examples.QUERY, QueryInput), (examples.REPORT, OutcomeReport)],
)
def test_an_example_of_a_body_is_of_the_shape_that_it_stands_for(example: Any, shape: Any) -> None:
    assert set(example) == set(shape.__struct_fields__) or shape is OutcomeReport
    assert msgspec.convert(example, shape, strict=False)


OPERATIONS = {
    f"{one.route.method} {one.route.path}": one.route
    for module in (incorporator_routes, feedback, escalations, learner, review, health, problem_pages)
    for one in vars(module).values()
    if isinstance(one, Operation)
}


@pytest.mark.parametrize("name", [name for name, route in OPERATIONS.items() if route.answers is not None])
def test_every_answer_has_an_example_which_is_exactly_what_the_route_would_answer(name: str) -> None:
    route = OPERATIONS[name]
    example = msgspec.json.encode(route.answer_example)
    read = msgspec.json.decode(example, type=route.answers)
    assert msgspec.json.decode(msgspec.json.encode(read)) == msgspec.json.decode(example)


@pytest.mark.parametrize("name", [name for name, route in OPERATIONS.items() if route.body is not None])
def test_every_body_has_an_example(name: str) -> None:
    assert OPERATIONS[name].example is not None


async def test_the_version_is_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "version", lambda name: f"7 of {name}")
    assert (await described())["info"]["version"] == "7 of memorygrid-incorporator"


async def test_without_the_packages_metadata_there_is_a_description_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(description, "version", unknown)
    assert (await described())["info"]["version"]


async def test_the_page_loads_nothing_from_elsewhere() -> None:
    async with client_of(incorporator(Stub(), "admin:k"), "8.8.8.8") as client:
        page = await client.get("/schema/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'; connect-src 'self'" in page.headers["content-security-policy"]
    assert not any(
        mark in page.text for mark in ("http://", "https://", "src=", "@import", "url(", "innerHTML", "eval(")
    )


async def test_every_field_of_bodies_and_answers_says_what_it_means() -> None:
    schemas = (await described())["components"]["schemas"]
    silent = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, of_field in schema.get("properties", {}).items()
        if not of_field.get("description")
    ]
    assert silent == []


async def test_every_route_says_more_than_its_summary() -> None:
    for methods in (await described())["paths"].values():
        for one in methods.values():
            assert one.get("description"), one["operationId"]


async def test_no_words_are_kept_for_fields_that_there_are_not() -> None:
    schemas = (await described())["components"]["schemas"]
    there = {f"{name}.{field}" for name, schema in schemas.items() for field in schema.get("properties", {})}
    assert set(OWN) <= there
    assert set(FIELDS) <= {one.partition(".")[2] for one in there - set(OWN)}
