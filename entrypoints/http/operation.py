"""One route: its declaration, and what admits the caller and reads the request.

A handler is a plain function of the services and the call. What it needs of the request (permission, body, parameters)
is declared beside it, so that nothing is served without a permission, and the API's description is the same truth.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import msgspec
from litestar.types import Receive, Scope

from application.shared.ports import Clock, IdempotencyRecord
from domain.errors import MemoryGridError
from entrypoints.http.access import LOCAL, Caller, Permission, admitted
from entrypoints.http.answers import JSON, Answer
from entrypoints.http.idempotency import idempotency_record
from entrypoints.http.parameters import read_query, refuse_query
from entrypoints.http.wire import Body, BodyLimit, announced_size, read_body

S = TypeVar("S")
T = TypeVar("T")
P = TypeVar("P", bound=msgspec.Struct)


class Call:
    """One request of an admitted caller. `known` is False only for strangers at an open route."""

    __slots__ = ("_held", "_limit", "_receive", "_scope", "caller", "known")

    def __init__(self, scope: Scope, receive: Receive, caller: Caller | None, limit: BodyLimit) -> None:
        self._scope = scope
        self._receive = receive
        self._limit = limit
        self._held = 0
        self.known = caller is not None
        self.caller = caller or LOCAL

    @property
    def path(self) -> str:
        """As the caller wrote it."""
        return str(self._scope["state"]["path"])

    def path_parameter(self, name: str) -> str:
        return self._scope["path_params"][name]

    async def body(self, shape: Body[T]) -> T:
        """Raises `InvalidInput`, `UnsupportedMediaType`, `BodyTooLarge`, `TooBusy`."""
        most = self._limit.most
        self._held = self._limit.take(announced_size(self._scope, most))
        return shape.decode(await read_body(self._receive, most))

    def close(self) -> None:
        """The request has been answered."""
        if self._held:
            self._limit.give_back(self._held)

    def query(self, shape: type[P]) -> tuple[P, dict[str, str]]:
        """The query parameters, and those given as they came. Raises `InvalidInput`."""
        return read_query(self._scope, shape)

    def idempotency(self, route: str, body: object, clock: Clock) -> IdempotencyRecord | None:
        """Raises `InvalidInput` for a key that is none."""
        return idempotency_record(self._scope, self.caller, route, body, clock)


Verb = Literal["GET", "POST", "DELETE"]
Handle = Callable[[S, Call], Awaitable[Answer]]
Serve = Callable[[Scope, Receive], Awaitable[Answer]]


@dataclass(frozen=True)
class Route:
    """What a route takes and answers; it decorates the function that handles it.

    `keyed`: the `Idempotency-Key` header is honoured. `raises`: the errors that it may answer beside the common ones.
    `headers`: those of its answer, with what they say.
    """

    method: Verb
    path: str
    permission: Permission = field(kw_only=True)
    answers: Any = field(kw_only=True)
    status: int = field(default=200, kw_only=True)
    media_type: bytes = field(default=JSON, kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    body: Body[Any] | None = field(default=None, kw_only=True)
    query: type[Any] | None = field(default=None, kw_only=True)
    keyed: bool = field(default=False, kw_only=True)
    raises: Sequence[type[MemoryGridError]] = field(default=(), kw_only=True)
    example: object = field(default=None, kw_only=True)
    answer_example: object = field(default=None, kw_only=True)

    def __call__(self, handle: Handle[S]) -> Operation[S]:
        return Operation(self, handle)


class Operation(Generic[S]):
    """A route with its handler. The first line of the handler's docstring is the summary that callers read."""

    def __init__(self, route: Route, handle: Handle[S]) -> None:
        self.route = route
        self._handle = handle

    @property
    def name(self) -> str:
        return self._handle.__name__

    @property
    def description(self) -> str:
        return (self._handle.__doc__ or "").strip()

    def served_by(self, services: S, limit: BodyLimit) -> Serve:
        """The route over these services."""
        handle, permission, takes_no_query = self._handle, self.route.permission, self.route.query is None

        async def serve(scope: Scope, receive: Receive) -> Answer:
            caller = admitted(scope, permission)
            if takes_no_query:
                refuse_query(scope)
            call = Call(scope, receive, caller, limit)
            try:
                return await handle(services, call)
            finally:
                call.close()

        return serve
