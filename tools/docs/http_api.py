"""The HTTP API's page, from the OpenAPI description that the service answers at `/schema`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import anyio
import httpx

from entrypoints.apps import incorporator_app
from entrypoints.container import IncorporatorContainer
from entrypoints.settings import Settings
from tools.docs.environment import bare_environment
from tools.docs.markdown import WRITTEN, code, page, table

_GROUPS = {
    "incorporator": "Matching and outcomes",
    "feedback": "Feedback",
    "escalations": "Escalations",
    "lessons": "Lessons and review",
    "health": "Health",
}


@cache
def openapi_json() -> str:
    """The description of the service with both halves, as it answers it."""
    with bare_environment():
        app = incorporator_app(IncorporatorContainer(settings=Settings()))

    async def fetched() -> str:
        transport = httpx.ASGITransport(app=cast("Any", app))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.get("/schema/openapi.json")).raise_for_status().text

    return anyio.run(fetched).rstrip("\n") + "\n"


def http_page() -> str:
    document = json.loads(openapi_json())
    return page(
        WRITTEN,
        "# HTTP API",
        "The service describes itself at `/schema` (OpenAPI 3.1); the same document is "
        "[openapi.json](openapi.json). The Incorporator has all routes (those of `/lessons` unless "
        "`MG_LEARNER_API=off`), the Learner those of `/lessons`, `/health` and `/schema`.",
        _ABOUT,
        "## Who may do what",
        _ROLES,
        *_routes(document),
        "## Shapes",
        *_shapes(document["components"]["schemas"]),
    )


_ABOUT = """\
- A trailing slash is optional. GET routes answer HEAD.
- Unknown fields of a body are ignored; an unknown query parameter is an error.
- Lists come newest first, unless a route says otherwise. While there is more, the `Link` header has `rel="next"`.
- Errors are [problems](errors.md). Each route names its own; 400, 401, 403, 405, 413, 415, 500, 503 and 504 may come
  from any of them.
- `Idempotency-Key`, where a route takes it: the same key with the same body within 24 h has one effect and the first
  answer. With another body it is an error (422).
- Keys are sent as `Authorization: Bearer <key>`."""


_ROLES = """\
| role | may |
| --- | --- |
| `pipeline` | use `/incorporator/*`, read `/feedback` |
| `reader` | every GET |
| `reviewer` | every GET, inject and decide on lessons, retry escalations |
| `admin` | everything, erasing lessons too |"""


def _routes(document: Any) -> Iterator[str]:
    for group, title in _GROUPS.items():
        yield f"## {title}"
        for path, methods in document["paths"].items():
            if path.split("/")[1] == group:
                for method, described in methods.items():
                    yield from _route(f"{method.upper()} {path}", described)


def _route(name: str, described: Any) -> Iterator[str]:
    yield f"### {name}"
    yield described["summary"].rstrip(".") + "."
    yield described.get("description", "")
    rows = [
        [code(one["name"]), one["in"], _type(one["schema"]), "yes" if one["required"] else ""]
        for one in described.get("parameters", ())
    ]
    yield table(["parameter", "in", "type", "required"], rows) if rows else ""
    if "requestBody" in described:
        content = described["requestBody"]["content"]["application/json"]
        yield f"Body: {_type(content['schema'])}"
        if "example" in content:
            yield _example(content["example"], content["schema"])
    yield _answers(described["responses"])


def _example(example: object, schema: Any) -> str:
    shape = schema.get("$ref", "").rsplit("/", 1)[-1]
    said = f"shape: {shape}" if shape else "not run: a list, whose elements are those of the route before"
    return f"<!-- {said} -->\n\n```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```"


_EVERYWHERE = {"400", "401", "403", "405", "413", "415", "500", "503", "504"}


def _answers(responses: Any) -> str:
    lines = []
    for status, one in responses.items():
        shapes = [_type(of_one["schema"]) for of_one in one.get("content", {}).values()]
        what = one["description"] if int(status) >= 400 else (shapes[0] if shapes else "nothing")
        if status not in _EVERYWHERE:
            lines.append(f"- {status}: {what}")
            if int(status) < 400:
                lines += [f"    - {code(name)}: {said['description']}" for name, said in one.get("headers", {}).items()]
    return "\n".join(lines)


def _shapes(schemas: Any) -> Iterator[str]:
    for name, schema_of_one in sorted(schemas.items()):
        yield f"### {name}"
        yield schema_of_one.get("description", "")
        if "enum" in schema_of_one:
            yield "One of " + ", ".join(code(str(one)) for one in schema_of_one["enum"]) + "."
            continue
        required = schema_of_one.get("required", ())
        rows = [
            [code(field), _type(of_one), "yes" if field in required else ""]
            for field, of_one in schema_of_one.get("properties", {}).items()
        ]
        yield table(["field", "type", "always there"], rows)


def _type(schema_of_one: Any) -> str:
    if "$ref" in schema_of_one:
        name = schema_of_one["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema_of_one:
        return " or ".join(_type(one) for one in schema_of_one["anyOf"])
    if "enum" in schema_of_one:
        return ", ".join(code(json.dumps(one)) for one in schema_of_one["enum"])
    kind = str(schema_of_one.get("type", "any JSON value"))
    if kind == "array":
        return f"list of {_type(schema_of_one.get('items', {}))}"
    return kind + _limits(schema_of_one)


def _limits(schema_of_one: Any) -> str:
    if "format" in schema_of_one:
        return f" ({schema_of_one['format']})"
    least, most = (
        schema_of_one.get(*pair)
        for pair in (("minLength", schema_of_one.get("minimum")), ("maxLength", schema_of_one.get("maximum")))
    )
    if least is None and most is None:
        return ""
    bounds = f"{'' if least is None else least} to {'' if most is None else most}".strip()
    return f" ({bounds}{' characters' if 'maxLength' in schema_of_one else ''})"
