"""The API's description in OpenAPI 3.1, made from the routes' own declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec
import yaml

from domain.errors import InvalidInput, MemoryGridError
from domain.values import JsonObject
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer
from entrypoints.http.idempotency import HEADER
from entrypoints.http.operation import Call, Operation, operation
from entrypoints.http.problems import MEDIA_TYPE, TABLE, Problem
from entrypoints.http.refusals import (
    BodyTooLarge,
    Forbidden,
    InternalFault,
    TimedOut,
    TooBusy,
    Unauthenticated,
    UnsupportedMediaType,
)

_REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+):str\}")
_VERSION = "0.1.0"


class Description:
    """The whole document of some routes; made when it is first asked for."""

    def __init__(self, title: str, operations: Sequence[Operation[Any]]) -> None:
        self._title = title
        self._operations = tuple(operations)

    @cached_property
    def json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self._document()), indent=2)

    @cached_property
    def yaml(self) -> bytes:
        return yaml.safe_dump(msgspec.json.decode(self.json), sort_keys=False, allow_unicode=True).encode()

    def _document(self) -> JsonObject:
        shapes = _Shapes(self._operations)
        paths: dict[str, JsonObject] = {}
        for one in self._operations:
            path = _PARAMETER.sub(r"{\1}", one.path)
            paths.setdefault(path, {})[one.method.lower()] = _described(one, shapes)
        return {
            "openapi": "3.1.0",
            "info": {"title": self._title, "version": _VERSION, "description": _ABOUT},
            "paths": paths,
            "components": {
                "schemas": shapes.components,
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": _KEYS}},
            },
        }


class _Shapes:
    """The JSON schemas of everything that the routes take and answer."""

    def __init__(self, operations: Sequence[Operation[Any]]) -> None:
        types: list[Any] = [Problem]
        for one in operations:
            types += [shape for shape in (one.answers, one.query, one.body and one.body.shape) if shape is not None]
        schemas, self.components = msgspec.json.schema_components(types, schema_hook=_anything, ref_template=_REFERENCE)
        self._of = {str(shape): schema for shape, schema in zip(types, schemas, strict=True)}
        queries = {one.query.__name__ for one in operations if one.query is not None}
        self._parameters = {name: self.components.pop(name) for name in queries}

    def of(self, shape: Any) -> JsonObject:
        return self._of[str(shape)]

    def parameters(self, shape: type[Any]) -> list[JsonObject]:
        """A query's parameters."""
        schema = self._parameters[shape.__name__]
        return [
            {"name": name, "in": "query", "required": name in schema["required"], "schema": _not_null(of_one)}
            for name, of_one in schema["properties"].items()
        ]


def _described(one: Operation[Any], shapes: _Shapes) -> JsonObject:
    summary, _, more = one.description.partition("\n")
    found: JsonObject = {
        "operationId": one.name,
        "tags": [one.path.split("/")[1]],
        "summary": summary,
        "parameters": _parameters(one, shapes),
        "responses": {str(one.status): _success(one, shapes), **_failures(one)},
        "security": [] if one.permission is Permission.NONE else [{"key": []}, {}],
    }
    if more.strip():
        found["description"] = " ".join(more.split())
    if one.body is not None:
        content: JsonObject = {"schema": shapes.of(one.body.shape)}
        if one.example is not None:
            content["example"] = one.example
        found["requestBody"] = {"required": one.body.required, "content": {"application/json": content}}
    return found


def _parameters(one: Operation[Any], shapes: _Shapes) -> list[JsonObject]:
    found: list[JsonObject] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
        for name in _PARAMETER.findall(one.path)
    ]
    if one.query is not None:
        found += shapes.parameters(one.query)
    if one.keyed:
        key = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}
        found.append({"name": HEADER, "in": "header", "required": False, "schema": key, "description": _KEYED})
    return found


def _success(one: Operation[Any], shapes: _Shapes) -> JsonObject:
    if one.answers is None:
        return {"description": "Done"}
    return {"description": "Answered", "content": {"application/json": {"schema": shapes.of(one.answers)}}}


def _failures(one: Operation[Any]) -> dict[str, JsonObject]:
    """Every status that may come, with the types of problem that it stands for."""
    by_status: dict[int, list[str]] = {}
    for error in _raised(one):
        codes = by_status.setdefault(TABLE[error.code].status, [])
        if error.code not in codes:
            codes.append(error.code)
    schema = {"$ref": _REFERENCE.format(name="Problem")}
    content = {MEDIA_TYPE.decode(): {"schema": schema}}
    return {
        str(status): {"description": ", ".join(f"`/problems/{code}`" for code in codes), "content": content}
        for status, codes in sorted(by_status.items())
    }


def _raised(one: Operation[Any]) -> Iterable[type[MemoryGridError]]:
    yield InvalidInput
    if one.permission is not Permission.NONE:
        yield Unauthenticated
        yield Forbidden
    if one.body is not None:
        yield BodyTooLarge
        yield UnsupportedMediaType
    yield from one.raises
    yield InternalFault
    yield TooBusy
    yield TimedOut


def _anything(shape: type[Any]) -> JsonObject:
    """The schema of `object`, which stands for any JSON value."""
    if shape is object:
        return {"description": "Any JSON value"}
    raise NotImplementedError


def _not_null(schema: JsonObject) -> JsonObject:
    """A parameter that is left out is absent, never null."""
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    rest = [one for one in options if one != {"type": "null"}]
    return rest[0] if len(rest) == 1 else {"anyOf": rest}


_ABOUT = (
    "How agents use the lessons they have learned: match, apply, record feedback, escalate. "
    "Every error is application/problem+json; its type says which."
)
_KEYS = "A key of MG_API_KEYS. Without any set, the service answers clients on its own machine only."
_KEYED = "The same key with the same body within 24 h has one effect and the first answer."


@operation("GET", "/schema", permission=Permission.READ, answers=JsonObject)
async def openapi(found: Description, call: Call) -> Answer:
    """This description, in JSON"""
    return Answer(found.json, media_type=b"application/vnd.oai.openapi+json")


@operation("GET", "/schema/openapi.json", permission=Permission.READ, answers=JsonObject)
async def openapi_json(found: Description, call: Call) -> Answer:
    """This description, in JSON"""
    return Answer(found.json, media_type=b"application/vnd.oai.openapi+json")


@operation("GET", "/schema/openapi.yaml", permission=Permission.READ, answers=JsonObject)
async def openapi_yaml(found: Description, call: Call) -> Answer:
    """This description, in YAML"""
    return Answer(found.yaml, media_type=b"application/vnd.oai.openapi")


OPERATIONS = (openapi, openapi_json, openapi_yaml)
