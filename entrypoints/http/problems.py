"""Every error as `application/problem+json` (RFC 9457): one table from an error's code to status and title."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.types import Scope

from domain.errors import FieldError, InvalidInput, MemoryGridError
from entrypoints.http.answers import Answer, Header
from entrypoints.http.refusals import (
    BadRequest,
    InternalFault,
    MethodNotAllowed,
    Refusal,
    UnknownPath,
)

_log = logging.getLogger(__name__)

MEDIA_TYPE = b"application/problem+json"


class Kind(msgspec.Struct, frozen=True):
    """What every error of one code has in common; `retry_after` in seconds where trying again may help."""

    status: int
    title: str
    retry_after: int | None = None


TABLE: Mapping[str, Kind] = {
    "invalid-input": Kind(400, "The request is not of the documented shape"),
    "bad-request": Kind(400, "The request cannot be understood"),
    "unauthenticated": Kind(401, "A valid key is needed"),
    "forbidden": Kind(403, "Access is not allowed"),
    "unknown-path": Kind(404, "There is nothing at this path"),
    "not-found": Kind(404, "Not found"),
    "no-match": Kind(404, "No promoted lesson applies"),
    "no-selection": Kind(404, "Nothing was selected for this step and session"),
    "unknown-entry": Kind(404, "No feedback entry has this id"),
    "unknown-lesson": Kind(404, "No lesson has this id"),
    "unknown-escalation": Kind(404, "No escalation has this id"),
    "method-not-allowed": Kind(405, "This path does not take this method"),
    "conflict": Kind(409, "The present state does not allow this"),
    "stale-version": Kind(409, "The lesson has moved on"),
    "decision-not-allowed": Kind(409, "The lesson's status does not allow this decision"),
    "request-in-progress": Kind(409, "The same request is being worked on", retry_after=1),
    "body-too-large": Kind(413, "The body is too large"),
    "unsupported-media-type": Kind(415, "The body must be JSON"),
    "idempotency-key-reused": Kind(422, "The idempotency key came before with another body"),
    "overloaded": Kind(429, "Too many requests are waiting", retry_after=1),
    "internal-fault": Kind(500, "A fault of the service"),
    "unavailable": Kind(503, "Something that the service needs does not answer", retry_after=1),
    "store-unavailable": Kind(503, "A database does not answer", retry_after=1),
    "vectors-unavailable": Kind(503, "The vector index does not answer", retry_after=1),
    "embedder-unavailable": Kind(503, "The embedder does not answer", retry_after=1),
    "llm-unavailable": Kind(503, "The language model does not answer", retry_after=1),
    "delivery-failed": Kind(503, "An escalation's target does not answer", retry_after=1),
    "embedder-mismatch": Kind(503, "The stored vectors came from another embedder", retry_after=60),
    "too-busy": Kind(503, "Too many requests are in flight", retry_after=1),
    "not-ready": Kind(503, "Requests cannot be served just now", retry_after=5),
    "timed-out": Kind(504, "The request took too long"),
}


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
        instance=quote(scope["path"], errors="replace"),
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
    _log.error("fault %s at %s %r", request_id(scope), scope.get("method"), scope["path"], exc_info=error)
    return InternalFault(f"the service's log has the reason under the id {request_id(scope)}")


def _headers(error: MemoryGridError, kind: Kind) -> list[Header]:
    headers = list(error.headers) if isinstance(error, Refusal) else []
    if isinstance(error, MethodNotAllowed):
        headers.append((b"allow", error.allow.encode()))
    if kind.retry_after is not None:
        headers.append((b"retry-after", b"%d" % kind.retry_after))
    return headers
