"""One path of the framework's router: all its methods, with OPTIONS, and every error as a problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Method, Receive, Scope

from entrypoints.http.access import known
from entrypoints.http.answers import Answer, nothing
from entrypoints.http.operation import Serve
from entrypoints.http.problems import problem_answer


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


def _allowed(methods: Iterable[str]) -> str:
    """The value of an `Allow` header: where GET is taken, so is HEAD."""
    taken = {*methods, "OPTIONS"}
    return ", ".join(sorted(taken | ({"HEAD"} if "GET" in taken else set())))


def _options(methods: Iterable[str]) -> Serve:
    headers = [(b"allow", _allowed(methods).encode())]

    async def serve(scope: Scope, receive: Receive) -> Answer:
        known(scope)
        return nothing(headers=headers)

    return serve
