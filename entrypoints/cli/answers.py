"""Reading what the service answers: the documented shape, or the problem it names with the exit code that fits."""

from __future__ import annotations

from typing import TypeVar

import httpx
import msgspec

from domain.errors import FieldError
from entrypoints.cli.failures import ExitCode, Failure

T = TypeVar("T")

_NO = {"no-match", "not-found", "unknown-lesson", "unknown-entry", "unknown-escalation", "no-selection"}
_CODES = {
    401: ExitCode.DENIED,
    403: ExitCode.DENIED,
    409: ExitCode.NO,
    429: ExitCode.UNREACHABLE,
    502: ExitCode.UNREACHABLE,
    503: ExitCode.UNREACHABLE,
    504: ExitCode.UNREACHABLE,
}


class Problem(msgspec.Struct, frozen=True):
    """The members of a problem (RFC 9457) that a command looks at."""

    type: str = ""
    title: str = ""
    detail: str = ""
    errors: tuple[FieldError, ...] = ()

    @property
    def code(self) -> str:
        return self.type.rpartition("/")[2]


def read(response: httpx.Response, shape: type[T]) -> T:
    """The answer as a `shape`. Raises `Failure` for an error, and for an answer that is not the service's."""
    if not response.is_success:
        raise refusal(response)
    try:
        return msgspec.json.decode(response.content, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        message = f"{response.url} did not answer as this service does ({error}): check the address"
        raise Failure(message, ExitCode.USAGE) from error


def refusal(response: httpx.Response) -> Failure:
    """The failure that an error answer stands for."""
    problem = _problem(response)
    if response.status_code == httpx.codes.NOT_FOUND and problem.code not in _NO:
        return Failure(f"there is no MemoryGrid API at {response.url}: check the address", ExitCode.USAGE)
    code = ExitCode.NO if problem.code in _NO else _CODES.get(response.status_code, ExitCode.USAGE)
    if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
        code = ExitCode.USAGE if problem.code == "embedder-mismatch" else ExitCode.UNREACHABLE
    words = _words(problem, response)
    if response.status_code == httpx.codes.UNAUTHORIZED:
        words += " (give one by --api-key or MG_API_KEY)"
    return Failure(words, code, answered=True)


def unreachable(error: httpx.HTTPError, place: str) -> Failure:
    """The failure where no answer came."""
    why = "took too long to answer" if isinstance(error, httpx.TimeoutException) else "does not answer"
    return Failure(
        f"{place} {why} ({str(error) or type(error).__name__}): is the service running?", ExitCode.UNREACHABLE
    )


def _problem(response: httpx.Response) -> Problem:
    try:
        return msgspec.json.decode(response.content, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Problem()


def _words(problem: Problem, response: httpx.Response) -> str:
    said = problem.detail or problem.title or f"the service answered {response.status_code} {response.reason_phrase}"
    more = [f"\n  {one.path}: {one.message}" for one in problem.errors if one.message not in said]
    return said + "".join(more)
