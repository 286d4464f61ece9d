"""One route: its declaration, and the handler that admits the caller, reads the request and answers errors.

A handler is a plain function of the services and the call. What it needs of the request (permission, body, parameters)
is declared beside it, so that nothing is served without a permission, and the API's description is the same truth.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, cast

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Method, Receive, Scope

from application.shared.ports import Clock, IdempotencyRecord
from domain.errors import MemoryGridError
from entrypoints.http.access import LOCAL, Caller, Permission, admitted, known
from entrypoints.http.answers import Answer, nothing
from entrypoints.http.idempotency import idempotency_record
from entrypoints.http.problems import problem_answer
from entrypoints.http.wire import Body, read_body, read_query, refuse_query

S = TypeVar("S")
T = TypeVar("T")
P = TypeVar("P", bound=msgspec.Struct)


class Call:
    """One request of an admitted caller. `known` is False only for strangers at an open route."""

    __slots__ = ("_max_body_bytes", "_receive", "_scope", "caller", "known")

    def __init__(self, scope: Scope, receive: Receive, caller: Caller | None, max_body_bytes: int) -> None:
        self._scope = scope
        self._receive = receive
        self._max_body_bytes = max_body_bytes
        self.known = caller is not None
        self.caller = caller or LOCAL

    @property
    def path(self) -> str:
        """As the caller wrote it."""
        return str(self._scope["state"]["path"])

    def path_parameter(self, name: str) -> str:
        return self._scope["path_params"][name]

    async def body(self, shape: Body[T]) -> T:
        """Raises `InvalidInput`, `UnsupportedMediaType`, `BodyTooLarge`."""
        return shape.decode(await read_body(self._scope, self._receive, self._max_body_bytes))

    def query(self, shape: type[P]) -> tuple[P, dict[str, str]]:
        """The query parameters, and those given as they came. Raises `InvalidInput`."""
        return read_query(self._scope, shape)

    def idempotency(self, route: str, body: object, clock: Clock) -> IdempotencyRecord | None:
        """Raises `InvalidInput` for a key that is none."""
        return idempotency_record(self._scope, self.caller, route, body, clock)


Verb = Literal["GET", "POST", "DELETE"]
Handle = Callable[[S, Call], Awaitable[Answer]]
Serve = Callable[[Scope, Receive], Awaitable[Answer]]


class Operation(Generic[S]):
    """A route as declared: what it takes, what it answers, and which errors it may answer beside the common ones."""

    def __init__(
        self,
        method: Verb,
        path: str,
        handle: Handle[S],
        *,
        permission: Permission,
        answers: Any,
        status: int = 200,
        body: Body[Any] | None = None,
        query: type[Any] | None = None,
        keyed: bool = False,
        raises: Sequence[type[MemoryGridError]] = (),
        example: object = None,
    ) -> None:
        self.method = method
        self.path = path
        self.handle = handle
        self.permission = permission
        self.answers = answers
        self.status = status
        self.body = body
        self.query = query
        self.keyed = keyed
        self.raises = tuple(raises)
        self.example = example

    @property
    def name(self) -> str:
        return self.handle.__name__

    @property
    def description(self) -> str:
        return (self.handle.__doc__ or "").strip()

    def served_by(self, services: S, max_body_bytes: int) -> Serve:
        """The route over these services."""
        handle, permission, takes_no_query = self.handle, self.permission, self.query is None

        async def serve(scope: Scope, receive: Receive) -> Answer:
            caller = admitted(scope, permission)
            if takes_no_query:
                refuse_query(scope)
            return await handle(services, Call(scope, receive, caller, max_body_bytes))

        return serve


def path_handler(path: str, routes: Mapping[str, Serve]) -> HTTPRouteHandler:
    """The framework's handler of all methods of one path, OPTIONS included."""
    taken: dict[str, Serve] = {**routes, "OPTIONS": _options(routes)}

    async def handler(request: Request[Any, Any, Any]) -> ASGIApp:
        scope = request.scope
        try:
            return await taken[scope["method"]](scope, request.receive)
        except Exception as error:
            return problem_answer(error, scope)

    # The answer brings its own status; the framework's default for DELETE would forbid a body, also a problem's.
    methods = cast("list[Method]", list(taken))
    return HTTPRouteHandler(path, http_method=methods, status_code=200, name=path)(handler)


def allowed(methods: Iterable[str]) -> str:
    """The value of an `Allow` header: where GET is taken, so is HEAD."""
    taken = {*methods, "OPTIONS"}
    return ", ".join(sorted(taken | ({"HEAD"} if "GET" in taken else set())))


def _options(methods: Iterable[str]) -> Serve:
    headers = [(b"allow", allowed(methods).encode())]

    async def serve(scope: Scope, receive: Receive) -> Answer:
        known(scope)
        return nothing(headers=headers)

    return serve


def operation(
    method: Verb,
    path: str,
    *,
    permission: Permission,
    answers: Any,
    status: int = 200,
    body: Body[Any] | None = None,
    query: type[Any] | None = None,
    keyed: bool = False,
    raises: Sequence[type[MemoryGridError]] = (),
    example: object = None,
) -> Callable[[Handle[S]], Operation[S]]:
    """Declares the decorated function as a route. `keyed`: the `Idempotency-Key` header is honoured."""

    def declare(handle: Handle[S]) -> Operation[S]:
        return Operation(
            method,
            path,
            handle,
            permission=permission,
            answers=answers,
            status=status,
            body=body,
            query=query,
            keyed=keyed,
            raises=raises,
            example=example,
        )

    return declare
