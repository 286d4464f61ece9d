"""The server's side of a connection, with what uvicorn leaves open: a head has an end in bytes and in time.

`uvicorn.run(app, http=BoundedHttp)`; the command line serves with it. Plain uvicorn serves as well, and may then stand
behind a proxy that bounds both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from entrypoints.http.problem_kinds import TABLE
from entrypoints.http.problems import MEDIA_TYPE, Problem
from entrypoints.http.refusals import BadRequest, HeadersTooLarge, Refusal

#: Bytes of a request's line and headers.
LARGEST_HEAD = 64 << 10
#: Seconds in which a request's line and headers have to come.
HEAD_S = 20.0

_REASONS: Mapping[int, bytes] = {400: b"Bad Request", 431: b"Request Header Fields Too Large"}


class BoundedHttp(HttpToolsProtocol):
    """Ends connections whose request has too large a head, or one that does not come."""

    _head: int | None = 0
    _in_time: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head is not None:
            self._head += len(data)
            if self._head > LARGEST_HEAD and not self.transport.is_closing():
                self._refuse(HeadersTooLarge(f"line and headers may have at most {LARGEST_HEAD} bytes"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self._head_is_there()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """As every other error of the service is answered."""
        self._refuse(BadRequest("this is no HTTP request"))

    def _await_head(self) -> None:
        self._head_is_there()
        self._head = 0
        self._in_time = self.loop.call_later(HEAD_S, self.transport.close)

    def _head_is_there(self) -> None:
        self._head = None
        if self._in_time is not None:
            self._in_time.cancel()
            self._in_time = None

    def _refuse(self, refusal: Refusal) -> None:
        kind = TABLE[refusal.code]
        problem = Problem(
            type=f"/problems/{refusal.code}", title=kind.title, status=kind.status, detail=refusal.detail, instance=""
        )
        body = msgspec.json.encode(problem)
        head = b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (kind.status, _REASONS[kind.status], MEDIA_TYPE, len(body)) + body)
        self.transport.close()
