"""The API's description in OpenAPI 3.1, made from the routes' own declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec
import yaml

from domain.errors import FieldError, InvalidInput, MemoryGridError
from domain.values import JsonObject
from entrypoints.http.access import Permission
from entrypoints.http.idempotency import HEADER
from entrypoints.http.operation import Operation, Route
from entrypoints.http.problem_kinds import TABLE
from entrypoints.http.problems import MEDIA_TYPE, Problem
from entrypoints.http.refusals import (
    BadRequest,
    BodyTooLarge,
    Forbidden,
    InternalFault,
    MethodNotAllowed,
    TimedOut,
    TooBusy,
    Unauthenticated,
    UnsupportedMediaType,
)
from entrypoints.http.shapes import REFERENCE, Shapes

_PARAMETER = re.compile(r"\{(\w+):str\}")


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
        shapes = Shapes([one.route for one in self._operations])
        paths: dict[str, JsonObject] = {}
        for one in self._operations:
            path = _PARAMETER.sub(r"{\1}", one.route.path)
            paths.setdefault(path, {})[one.route.method.lower()] = _described(one, shapes)
        tags = dict.fromkeys(_tag(one.route) for one in self._operations)
        return {
            "openapi": "3.1.0",
            "info": {
                "title": self._title,
                "version": _version(),
                "description": _ABOUT,
                "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
            },
            "tags": [{"name": tag, "description": _TAGS[tag]} for tag in tags],
            "paths": paths,
            "components": {
                "schemas": shapes.components,
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": _KEYS}},
            },
        }


def _version() -> str:
    try:
        return version("memorygrid-incorporator")
    except PackageNotFoundError:
        return "0+not-installed"


def _tag(route: Route) -> str:
    return route.path.split("/")[1]


def _described(one: Operation[Any], shapes: Shapes) -> JsonObject:
    route = one.route
    summary, _, more = one.description.partition("\n")
    found: JsonObject = {
        "operationId": one.name,
        "tags": [_tag(route)],
        "summary": summary,
        "parameters": _parameters(route, shapes),
        "responses": {str(route.status): _success(route, shapes), **_failures(route)},
        "security": [] if route.permission is Permission.NONE else [{"key": []}, {}],
    }
    if more.strip():
        found["description"] = " ".join(more.split())
    if route.body is not None:
        content = _content("application/json", shapes.of(route.body.shape), route.example)
        found["requestBody"] = {"required": route.body.required, "content": content}
    return found


def _parameters(route: Route, shapes: Shapes) -> list[JsonObject]:
    found: list[JsonObject] = [
        {"name": name, "in": "path", "required": True, **_PATH_PARAMETERS[name]}
        for name in _PARAMETER.findall(route.path)
    ]
    if route.query is not None:
        found += shapes.parameters(route.query)
    if route.keyed:
        key = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}
        found.append({"name": HEADER, "in": "header", "required": False, "schema": key, "description": _KEYED})
    return found


def _success(route: Route, shapes: Shapes) -> JsonObject:
    found: JsonObject = {"description": "Done" if route.answers is None else "Answered"}
    if route.headers:
        found["headers"] = _headers(route.headers)
    if route.answers is not None:
        found["content"] = _content(route.media_type.decode(), shapes.of(route.answers), route.answer_example)
    return found


def _content(media_type: str, schema: JsonObject, example: object) -> JsonObject:
    return {media_type: {"schema": schema, **({"example": example} if example is not None else {})}}


def _headers(described: Mapping[str, str]) -> JsonObject:
    return {name: {"description": what, "schema": {"type": "string"}} for name, what in described.items()}


def _failures(route: Route) -> dict[str, JsonObject]:
    """Every status that may come, with the types of problem that it stands for and an example of each."""
    by_status: dict[int, list[str]] = {}
    for error in _raised(route):
        codes = by_status.setdefault(TABLE[error.code].status, [])
        if error.code not in codes:
            codes.append(error.code)
    return {str(status): _failure(status, codes, route) for status, codes in sorted(by_status.items())}


def _failure(status: int, codes: Sequence[str], route: Route) -> JsonObject:
    described = {**_HEADERS.get(status, {}), **(_RETRY if any(TABLE[code].retry_after for code in codes) else {})}
    examples = {code: {"summary": TABLE[code].title, "value": _example(code, route)} for code in codes}
    content = {"schema": {"$ref": REFERENCE.format(name="Problem")}, "examples": examples}
    return {
        "description": "; ".join(f"{TABLE[code].title} (`/problems/{code}`)" for code in codes),
        **({"headers": _headers(described)} if described else {}),
        "content": {MEDIA_TYPE.decode(): content},
    }


def _example(code: str, route: Route) -> Problem:
    kind = TABLE[code]
    return Problem(
        type=f"/problems/{code}",
        title=kind.title,
        status=kind.status,
        detail=kind.advice,
        instance=_PARAMETER.sub(r"{\1}", route.path),
        errors=(FieldError("$.session_id", "is missing"),) if code == InvalidInput.code else (),
        id="5f0c9a6b21d4-1f" if code == InternalFault.code else None,
    )


def _raised(route: Route) -> Iterable[type[MemoryGridError]]:
    yield InvalidInput
    yield MethodNotAllowed
    if route.permission is not Permission.NONE:
        yield Unauthenticated
        yield Forbidden
    if route.body is not None:
        yield BadRequest
        yield BodyTooLarge
        yield UnsupportedMediaType
    yield from route.raises
    yield InternalFault
    yield TooBusy
    yield TimedOut


_ABOUT = (
    "How agents use the lessons they have learned: match, apply, record feedback, escalate. "
    "Every error is application/problem+json; its `type` says which, and leads to what to do about it. "
    "Every answer has an X-Request-Id. A GET route answers HEAD too; a trailing slash makes no difference."
)
_TAGS = {
    "incorporator": "What an agent's pipeline calls at its step, and what would be matched and was not",
    "feedback": "What became of each selection, and the rates over them",
    "escalations": "What lessons that keep failing have set off",
    "lessons": "Injecting, finding and reviewing lessons",
    "health": "Whether the service is alive, and whether it can serve",
    "problems": "What the types of problem mean",
    "schema": "This description",
}
_KEYS = "A key of MG_API_KEYS. Without any set, the service answers clients on its own machine only."
_KEYED = "The same key with the same body within 24 h has one effect and the first answer."
_RETRY = {"Retry-After": "Seconds after which trying again may help."}
_HEADERS = {
    401: {"WWW-Authenticate": "`Bearer`: how to send a key."},
    405: {"Allow": "The methods that this path takes."},
}


def _id_of(what: str) -> JsonObject:
    return {"description": f"{what}, as the service gave it out.", "schema": {"type": "string", "format": "uuid"}}


_PATH_PARAMETERS: Mapping[str, JsonObject] = {
    "lesson_id": _id_of("The lesson's id"),
    "entry_id": _id_of("The feedback entry's id"),
    "escalation_id": _id_of("The escalation's id"),
    "code": {
        "description": "The last part of a problem's `type`.",
        "schema": {"type": "string", "enum": list(TABLE)},
    },
}
