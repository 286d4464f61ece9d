"""`/schema`: the API's description for programs, and a page that shows it to people."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from domain.values import JsonObject
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer
from entrypoints.http.description import Description
from entrypoints.http.operation import Call, Route

_JSON = b"application/vnd.oai.openapi+json"
_YAML = b"application/vnd.oai.openapi"
_HTML = b"text/html; charset=utf-8"


@Route("GET", "/schema", permission=Permission.READ, answers=JsonObject, media_type=_JSON)
async def openapi(found: Description, call: Call) -> Answer:
    """This description, in JSON

    OpenAPI 3.1: every route, what it takes, what it answers, and each way in which it may refuse.
    """
    return Answer(found.json, media_type=_JSON)


@Route("GET", "/schema/openapi.json", permission=Permission.READ, answers=JsonObject, media_type=_JSON)
async def openapi_json(found: Description, call: Call) -> Answer:
    """This description, in JSON

    OpenAPI 3.1: every route, what it takes, what it answers, and each way in which it may refuse.
    """
    return Answer(found.json, media_type=_JSON)


@Route("GET", "/schema/openapi.yaml", permission=Permission.READ, answers=str, media_type=_YAML)
async def openapi_yaml(found: Description, call: Call) -> Answer:
    """This description, in YAML

    The same as in JSON.
    """
    return Answer(found.yaml, media_type=_YAML)


@Route("GET", "/schema/docs", permission=Permission.NONE, answers=str, media_type=_HTML)
async def docs(found: Description, call: Call) -> Answer:
    """This description as a page to read and to try

    The page itself is open and says nothing of this service; the description that it shows takes a key that may read.
    """
    page, policy = _page()
    return Answer(page, media_type=_HTML, headers=[(b"content-security-policy", policy)])


@cache
def _page() -> tuple[bytes, bytes]:
    """The page, whole by itself, and the policy that it may load this service's description and nothing else."""
    page = files("entrypoints.http").joinpath("docs.html").read_bytes()
    style, script = (_hash_of(element, page) for element in (b"style", b"script"))
    policy = (
        f"default-src 'none'; connect-src 'self'; style-src '{style}'; script-src '{script}'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page, policy.encode("ascii")


def _hash_of(element: bytes, page: bytes) -> str:
    text = page.partition(b"<%s>" % element)[2].partition(b"</%s>" % element)[0]
    return f"sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}"


OPERATIONS = (openapi, openapi_json, openapi_yaml, docs)
