"""The ways in which HTTP itself says no, beside the domain's own errors. Each has a stable `code` as those have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from domain.errors import MemoryGridError


class Refusal(MemoryGridError):
    """A request that no use case sees. `headers` go out with the answer."""

    headers: ClassVar[Sequence[tuple[bytes, bytes]]] = ()


class Unauthenticated(Refusal):
    code = "unauthenticated"
    headers = ((b"www-authenticate", b'Bearer realm="memorygrid"'),)


class Forbidden(Refusal):
    code = "forbidden"


class BadRequest(Refusal):
    """What the HTTP framework refuses before a handler sees it."""

    code = "bad-request"


class UnknownPath(Refusal):
    code = "unknown-path"


class MethodNotAllowed(Refusal):
    """`allow` names the methods that the path has."""

    code = "method-not-allowed"

    def __init__(self, detail: str, allow: str) -> None:
        super().__init__(detail)
        self.allow = allow


class BodyTooLarge(Refusal):
    code = "body-too-large"


class UnsupportedMediaType(Refusal):
    code = "unsupported-media-type"


class HeadersTooLarge(Refusal):
    """The connection is closed after it: nothing of such a request is read."""

    code = "headers-too-large"


class TooBusy(Refusal):
    """More requests are in flight than the service takes on."""

    code = "too-busy"


class TimedOut(Refusal):
    code = "timed-out"


class NotReady(Refusal):
    """Requests cannot be served just now."""

    code = "not-ready"


class InternalFault(Refusal):
    """A fault of ours; the log has it under the same id."""

    code = "internal-fault"
