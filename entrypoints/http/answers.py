"""What handlers answer: bytes that are ready to be sent, without any framework in between."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import msgspec
from litestar.types import Receive, Scope, Send

JSON = b"application/json"

Header = tuple[bytes, bytes]


class Answer:
    """One complete HTTP answer; itself the ASGI application that sends it."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, body: bytes, *, status: int = 200, media_type: bytes = JSON, headers: Sequence[Header] = ()):
        self.status = status
        self.body = body
        self.headers: list[Header] = [
            (b"content-type", media_type),
            (b"content-length", b"%d" % len(body)),
            *headers,
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


_encode = msgspec.json.Encoder().encode


def answer(value: object, *, status: int = 200, headers: Sequence[Header] = ()) -> Answer:
    """`value` as JSON."""
    return Answer(_encode(value), status=status, headers=headers)


def nothing(*, headers: Sequence[Header] = ()) -> Answer:
    """204, without a body."""
    empty = Answer(b"", status=204)
    empty.headers = list(headers)
    return empty


def address(path: str) -> bytes:
    """A path as headers name it."""
    return quote(path).encode("ascii")
