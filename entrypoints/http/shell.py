"""Around every request: who sends it, how long it may take, how many are in flight, HEAD, headers of every answer."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from litestar.types import ASGIApp, Message, Receive, Scope, Send

from entrypoints.http.access import AccessPolicy
from entrypoints.http.deadlines import Deadlines, Watch
from entrypoints.http.operation import Serve
from entrypoints.http.problems import problem_answer
from entrypoints.http.refusals import Refusal, TimedOut, TooBusy
from entrypoints.http.start import plainly

_EVERYWHERE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class Shell:
    """The outermost ASGI application. It keeps no state between requests but how many are in flight.

    `fixed` are the routes whose path has no parameter, by method and path. They are served at once: finding them
    through the framework costs as much as all the rest of this layer. Everything else goes to `app`.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        fixed: Mapping[tuple[str, str], Serve],
        access: AccessPolicy,
        timeout_s: float,
        max_in_flight: int,
    ) -> None:
        self._app = app
        self._fixed = fixed
        self._access = access
        self._deadlines = Deadlines(timeout_s)
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self._ids = map(f"{secrets.token_hex(6)}-{{:x}}".format, itertools.count(1))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003, "reason": ""})
        else:
            await self._lifespan(scope, receive, plainly(send))

    async def _lifespan(self, scope: Any, receive: Any, send: Any) -> None:
        """The framework's types of an application know requests only."""
        await self._app(scope, receive, send)

    async def _http(self, scope: Any, receive: Receive, send: Send) -> None:
        reply = _Reply(send, next(self._ids), is_head=scope["method"] == "HEAD")
        scope = {**scope, "state": self._state(scope, reply.request_id)}
        if reply.is_head:
            scope["method"] = "GET"
        if self._in_flight >= self._max_in_flight and not scope["path"].startswith("/health"):
            busy = TooBusy(f"{self._max_in_flight} requests are in flight already: try again")
            await problem_answer(busy, scope)(scope, receive, reply)
            return
        self._in_flight += 1
        reply.when_it_begins = self._leave
        try:
            await self._answered_in_time(scope, receive, reply)
        finally:
            if not reply.started:
                self._leave()

    def _leave(self) -> None:
        """A request is in flight until its answer has begun: a client that does not read it keeps nobody out."""
        self._in_flight -= 1

    def _state(self, scope: Scope, request_id: str) -> dict[str, Any]:
        state: dict[str, Any] = {**scope.get("state", {}), "request_id": request_id, "path": scope["path"]}
        try:
            state["caller"] = self._access.caller(scope)
        except Refusal as refusal:
            state["refusal"] = refusal
        return state

    async def _answered_in_time(self, scope: Any, receive: Receive, reply: _Reply) -> None:
        """The deadline holds until the answer has begun."""
        watch = reply.watch = self._deadlines.watch()
        try:
            serve = self._fixed.get((scope["method"], scope["path"]))
            if serve is None:
                await self._app(scope, receive, reply)
            else:
                await (await serve(scope, receive))(scope, receive, reply)
        except asyncio.CancelledError:
            if reply.started or not watch.over:
                raise
            failed: Exception = TimedOut(f"no answer within {self._deadlines.timeout_s:g} s (MG_REQUEST_TIMEOUT_S)")
        except Exception as error:
            if reply.started:
                raise
            failed = error
        else:
            return
        finally:
            watch.end()
        await problem_answer(failed, scope)(scope, receive, reply)


class _Reply:
    """Sends an answer with the headers that every one has, and without its body where HEAD asked."""

    __slots__ = ("_send", "is_head", "request_id", "started", "watch", "when_it_begins")

    def __init__(self, send: Send, request_id: str, *, is_head: bool) -> None:
        self._send = send
        self.request_id = request_id
        self.is_head = is_head
        self.started = False
        self.watch: Watch | None = None
        self.when_it_begins: Callable[[], None] | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            if self.watch is not None:
                self.watch.end()
            if self.when_it_begins is not None:
                self.when_it_begins()
            own = (b"x-request-id", self.request_id.encode("ascii"))
            message["headers"] = [*message["headers"], *_EVERYWHERE, own]
        elif self.is_head and message["type"] == "http.response.body":
            message["body"] = b""
        await self._send(message)
