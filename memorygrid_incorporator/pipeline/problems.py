"""How an answer is read: as what was asked for, or as the problem that the service names (RFC 9457).

Everything that can go wrong with a call is an `httpx.HTTPError`, so that a host needs to know one exception.
"""

from __future__ import annotations

import re
from typing import TypeVar

import httpx
import msgspec

Body = TypeVar("Body", bound=msgspec.Struct)

NO_MATCH = "no-match"
REQUEST_IN_PROGRESS = "request-in-progress"
LONGEST_DETAIL = 500


class Problem(msgspec.Struct, frozen=True):
    """The members of a problem that this client looks at; an answer without them is an unnamed problem."""

    type: str = "about:blank"
    detail: str = ""

    @property
    def code(self) -> str:
        """The last part of the type, which is the same wherever the service is: `no-match`."""
        return re.split(r"[/:#]", self.type)[-1]


def problem_of(response: httpx.Response) -> Problem:
    """The problem in the body; an unnamed one where a proxy or another server wrote the answer."""
    try:
        return msgspec.json.decode(response.content, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Problem()


def is_no_match(response: httpx.Response) -> bool:
    """Whether the service said that no lesson applies; any other 404 (a wrong address, say) is an error."""
    return response.status_code == httpx.codes.NOT_FOUND and problem_of(response).code == NO_MATCH


def is_in_progress(response: httpx.Response) -> bool:
    """Whether the service is still at work on an earlier request with the same idempotency key."""
    return response.status_code == httpx.codes.CONFLICT and (
        "Retry-After" in response.headers or problem_of(response).code == REQUEST_IN_PROGRESS
    )


def read(response: httpx.Response, body: type[Body]) -> Body:
    """The answer as a `body`.

    Raises `httpx.HTTPStatusError`, with the problem's detail in its message, for any status but 2xx, and
    `httpx.DecodingError` where the answer is not what was documented.
    """
    if not response.is_success:
        raise httpx.HTTPStatusError(_described(response), request=response.request, response=response)
    try:
        return msgspec.json.decode(response.content, type=body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        message = f"{_place(response)} answered no {body.__name__}: {error}"
        raise httpx.DecodingError(message, request=response.request) from error


def _described(response: httpx.Response) -> str:
    status = f"{response.status_code} {response.reason_phrase}".rstrip()
    problem = problem_of(response)
    explanation = f": {problem.detail[:LONGEST_DETAIL]}" if problem.detail else ""
    return f"{status} from {_place(response)}{explanation}"


def _place(response: httpx.Response) -> str:
    url = response.request.url
    return f"{response.request.method} {url.scheme}://{url.netloc.decode('ascii')}{url.path}"
