"""The JSON schemas of everything that the routes take and answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from domain.values import JsonObject
from entrypoints.http.field_words import words_of
from entrypoints.http.operation import Route
from entrypoints.http.problems import Problem

REFERENCE = "#/components/schemas/{name}"


class Shapes:
    """Made of all routes at once, so that equal types are one component."""

    def __init__(self, routes: Sequence[Route]) -> None:
        types: list[Any] = [Problem]
        for one in routes:
            types += [shape for shape in (one.answers, one.query, one.body and one.body.shape) if shape is not None]
        schemas, self.components = msgspec.json.schema_components(types, schema_hook=_anything, ref_template=REFERENCE)
        self._of = {str(shape): schema for shape, schema in zip(types, schemas, strict=True)}
        queries = {one.query.__name__ for one in routes if one.query is not None}
        self._parameters = {name: self.components.pop(name) for name in queries}
        for name, component in self.components.items():
            _describe_fields(name, component)

    def of(self, shape: Any) -> JsonObject:
        return self._of[str(shape)]

    def parameters(self, shape: type[Any]) -> list[JsonObject]:
        """A query's parameters."""
        described = self._parameters[shape.__name__]
        found: list[JsonObject] = []
        for name, of_one in described["properties"].items():
            schema = dict(_not_null(of_one))
            required = name in described["required"]
            parameter: JsonObject = {"name": name, "in": "query", "required": required, "schema": schema}
            if "description" in schema:
                parameter["description"] = schema.pop("description")
            if not required:
                parameter["allowEmptyValue"] = True
            found.append(parameter)
        return found


def _describe_fields(name: str, component: dict[str, Any]) -> None:
    """Says of each field what it means, where its type does not."""
    for field, schema in component.get("properties", {}).items():
        words = words_of(name, field)
        if words is not None:
            schema.setdefault("description", words)


def _anything(shape: type[Any]) -> JsonObject:
    """The schema of `object`, which stands for any JSON value."""
    if shape is object:
        return {"description": "Any JSON value"}
    raise NotImplementedError


def _not_null(schema: JsonObject) -> JsonObject:
    """A parameter that is left out is absent, never null."""
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return {name: value for name, value in schema.items() if (name, value) != ("default", None)}
    rest = [one for one in options if one != {"type": "null"}]
    return rest[0] if len(rest) == 1 else {"anyOf": rest}
