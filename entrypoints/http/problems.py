"""Every error as `application/problem+json` (RFC 9457), by the table of their kinds."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.types import Scope

from domain.errors import FieldError, InvalidInput, MemoryGridError
from entrypoints.http.answers import Answer, Header
from entrypoints.http.problem_kinds import TABLE, Kind
from entrypoints.http.refusals import (
    BadRequest,
    InternalFault,
    MethodNotAllowed,
    Refusal,
    UnknownPath,
)

_log = logging.getLogger(__name__)

MEDIA_TYPE = b"application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error as it is sent. `errors` say what is wrong where in the input; `id` is the log's name of a fault."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: tuple[FieldError, ...] = ()
    id: str | None = None


def problem_answer(error: Exception, scope: Scope) -> Answer:
    """The answer to an error. One that nobody expected is logged, and the answer holds nothing of it but an id."""
    found = error if isinstance(error, MemoryGridError) and error.code in TABLE else _fault(error, scope)
    kind = TABLE[found.code]
    problem = Problem(
        type=f"/problems/{found.code}",
        title=kind.title,
        status=kind.status,
        detail=found.detail,
        instance=quote(str(scope["state"]["path"]), errors="replace"),
        errors=found.errors if isinstance(found, InvalidInput) else (),
        id=request_id(scope) if isinstance(found, InternalFault) else None,
    )
    body = msgspec.json.encode(problem)
    return Answer(body, status=kind.status, media_type=MEDIA_TYPE, headers=_headers(found, kind))


def on_exception(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The framework's own errors (an unknown path, a wrong method), in the same shape.

    A caller who may not come in learns no more than that, whatever the path.
    """
    refused = request.scope["state"].get("refusal")
    found = problem_answer(refused or _translated(error), request.scope)
    headers = {name.decode(): value.decode() for name, value in found.headers}
    return Response(found.body, status_code=found.status, media_type=MEDIA_TYPE.decode(), headers=headers)


def request_id(scope: Scope) -> str:
    """The id that the answer's `X-Request-Id` names."""
    return str(scope["state"]["request_id"])


def _translated(error: Exception) -> Exception:
    if isinstance(error, NotFoundException):
        return UnknownPath("there is nothing at this path: see /schema for those that there are")
    if isinstance(error, MethodNotAllowedException):
        methods = (error.headers or {}).get("allow", "").split(", ")
        allow = ", ".join(sorted([*methods, "HEAD"] if "GET" in methods else methods))
        return MethodNotAllowed(f"this path takes {allow}", allow)
    if isinstance(error, HTTPException) and error.status_code < 500:
        return BadRequest("the request line or its headers are not valid HTTP")
    return error


def _fault(error: Exception, scope: Scope) -> InternalFault:
    _log.error("fault %s at %s %r", request_id(scope), scope.get("method"), scope["state"]["path"], exc_info=error)
    return InternalFault(f"the service's log has the reason under the id {request_id(scope)}")


def _headers(error: MemoryGridError, kind: Kind) -> list[Header]:
    headers = list(error.headers) if isinstance(error, Refusal) else []
    if isinstance(error, MethodNotAllowed):
        headers.append((b"allow", error.allow.encode()))
    if kind.retry_after is not None:
        headers.append((b"retry-after", b"%d" % kind.retry_after))
    return headers
