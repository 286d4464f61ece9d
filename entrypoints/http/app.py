"""The two ASGI applications, built from services; nothing here knows where those come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from litestar import Litestar
from litestar.plugins import PluginProtocol
from litestar.types import ASGIApp

from entrypoints.http import escalations, feedback, health, incorporator, learner, problem_pages, review, schema
from entrypoints.http.description import Description
from entrypoints.http.operation import Operation, Serve
from entrypoints.http.paths import path_handler
from entrypoints.http.problems import on_exception
from entrypoints.http.services import HttpOptions, IncorporatorServices, LearnerServices
from entrypoints.http.shell import Shell
from entrypoints.http.wire import BodyLimit

_LESSONS = (*learner.OPERATIONS, *review.OPERATIONS)


def create_incorporator_app(
    services: IncorporatorServices, learner_services: LearnerServices | None, options: HttpOptions
) -> ASGIApp:
    """`/incorporator`, `/feedback`, `/escalations` and `/health`; with `learner_services` also `/lessons`."""
    mounted: list[tuple[Operation[Any], object]] = [
        (one, services) for one in (*incorporator.OPERATIONS, *feedback.OPERATIONS, *escalations.OPERATIONS)
    ]
    if learner_services is not None:
        mounted += [(one, learner_services) for one in _LESSONS]
    return _app("MemoryGrid Incorporator", mounted, options)


def create_learner_app(services: LearnerServices, options: HttpOptions) -> ASGIApp:
    """`/lessons` and `/health`."""
    return _app("MemoryGrid Learner", [(one, services) for one in _LESSONS], options)


class _Framework(Litestar):
    """Litestar without the plugins that it adds: for models of pydantic and attrs, and for msgspec's as dependencies.

    No handler takes any of them, and to import pydantic takes a sixth of the time from the start to the first answer.
    There is no public way to leave them out.
    """

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return plugins


def _app(title: str, mounted: Sequence[tuple[Operation[Any], object]], options: HttpOptions) -> ASGIApp:
    mounted = [*mounted, *((one, options.readiness) for one in health.OPERATIONS)]
    mounted += [(one, None) for one in problem_pages.OPERATIONS]
    description = Description(title, [*(one for one, _ in mounted), *schema.OPERATIONS])
    mounted += [(one, description) for one in schema.OPERATIONS]
    limit = BodyLimit(options.max_body_bytes)
    paths: dict[str, dict[str, Serve]] = {}
    for one, given in mounted:
        paths.setdefault(one.route.path, {})[one.route.method] = one.served_by(given, limit)
    app = _Framework(
        route_handlers=[path_handler(path, routes) for path, routes in paths.items()],
        exception_handlers={Exception: on_exception},
        lifespan=[_entered(one) for one in options.lifespan],
        logging_config=None,
        openapi_config=None,
    )
    fixed = {
        (method, path): serve for path, routes in paths.items() if "{" not in path for method, serve in routes.items()
    }
    return Shell(
        app,
        fixed=fixed,
        access=options.access,
        timeout_s=options.request_timeout_s,
        max_in_flight=options.max_in_flight,
    )


def _entered(
    make: Callable[[], AbstractAsyncContextManager[None]],
) -> Callable[[Litestar], AbstractAsyncContextManager[None]]:
    return lambda _: make()
