"""The two HTTP services, put together from the settings."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace

import anyio
from litestar.types import ASGIApp

from application.shared.unbroken import ended
from domain.errors import InvalidConfiguration, StoreUnavailable
from entrypoints.background import feedback_housekeeping, lesson_housekeeping, miss_housekeeping, reconciler, running
from entrypoints.container import IncorporatorContainer, LearnerContainer
from entrypoints.http.access import AccessPolicy
from entrypoints.http.app import create_incorporator_app, create_learner_app
from entrypoints.http.services import HttpOptions, IncorporatorServices, LearnerServices, Readiness
from entrypoints.logs import set_up_logging
from entrypoints.misspelt import misspelt
from entrypoints.readiness import IncorporatorReadiness, LearnerReadiness
from entrypoints.settings import Settings, Switch

_log = logging.getLogger(__name__)

#: Seconds that the end of a process waits for the outbox.
_RELEASE_S = 2.0
#: Seconds that it waits for decisions whose callers have given up.
_UNBROKEN_S = 2.0


def incorporator_app(container: IncorporatorContainer | None = None) -> ASGIApp:
    """The Incorporator's app; the Learner's routes are part of it unless `MG_LEARNER_API=off`.

    Raises `InvalidConfiguration`.
    """
    container = container or IncorporatorContainer(settings=Settings())
    settings: Settings = container.settings()
    _begin(settings)
    container.rules()

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        learner = container.learner
        jobs = [
            container.dispatcher().run,
            container.misses().run,
            reconciler(learner.catalog()),
            lesson_housekeeping(learner.store(), learner.clock()),
            feedback_housekeeping(
                container.store(), container.outbox(), learner.clock(), settings.feedback_retention_days
            ),
            miss_housekeeping(container.miss_store()),
        ]
        async with AsyncExitStack() as opened:
            opened.push_async_callback(close_incorporator, container)
            await learner.catalog().refresh()
            await container.database().open()
            await container.llm().open()
            await opened.enter_async_context(running(jobs))
            yield

    learner_services = None
    if settings.learner_api is Switch.ON:
        learner_services = replace(_learner_services(container.learner), erase=container.erase())
    readiness = IncorporatorReadiness(
        learner=_learner_readiness(container.learner),
        outbox=container.outbox(),
        rules=container.rules(),
        llm=container.llm(),
        clock=container.learner.clock(),
    )
    options = _options(settings, readiness, lifespan)
    return create_incorporator_app(_incorporator_services(container), learner_services, options)


def learner_app(container: LearnerContainer | None = None) -> ASGIApp:
    """The Learner's app. Raises `InvalidConfiguration`."""
    container = container or LearnerContainer(settings=Settings())
    settings: Settings = container.settings()
    _begin(settings)

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        jobs = [reconciler(container.catalog()), lesson_housekeeping(container.store(), container.clock())]
        async with AsyncExitStack() as opened:
            opened.push_async_callback(close_learner, container)
            await container.catalog().refresh()
            await opened.enter_async_context(running(jobs))
            yield

    return create_learner_app(_learner_services(container), _options(settings, _learner_readiness(container), lifespan))


def _begin(settings: Settings) -> None:
    set_up_logging(settings)
    for given, meant in misspelt(os.environ).items():
        _log.warning("%s is set, but nothing reads it: did you mean %s?", given, meant)


async def close_learner(container: LearnerContainer) -> None:
    """Closes what the Learner holds open, each part whatever becomes of the others."""
    async with AsyncExitStack() as parts:
        parts.push_async_callback(container.database().aclose)
        parts.push_async_callback(container.embedder().aclose)
        parts.push_async_callback(container.vectors().aclose)
        parts.callback(container.watch().close)
        parts.push_async_callback(ended, within_s=_UNBROKEN_S)


async def close_incorporator(container: IncorporatorContainer) -> None:
    """Stores the misses that are still noted, gives back the escalations that were taken and not delivered, and closes
    everything that is open, as above.
    """
    async with AsyncExitStack() as parts:
        parts.push_async_callback(close_learner, container.learner)
        parts.push_async_callback(container.database().aclose)
        parts.push_async_callback(container.llm().aclose)
        for target in container.targets().values():
            parts.push_async_callback(target.aclose)
        parts.push_async_callback(_release, container)
        with suppress(StoreUnavailable):
            await container.misses().write()


async def _release(container: IncorporatorContainer) -> None:
    """Lets another process deliver at once what this one has taken. If it cannot, the leases end by themselves."""
    with suppress(StoreUnavailable, InvalidConfiguration), anyio.move_on_after(_RELEASE_S):
        await container.outbox().release(container.owner())


def _learner_services(container: LearnerContainer) -> LearnerServices:
    return LearnerServices(
        inject=container.inject(),
        review=container.review(),
        erase=container.erase(),
        search=container.search(),
        lessons=container.store(),
        clock=container.clock(),
    )


def _incorporator_services(container: IncorporatorContainer) -> IncorporatorServices:
    return IncorporatorServices(
        invoke=container.invoke(),
        explain=container.explain(),
        misses=container.miss_store(),
        report=container.report(),
        feedback=container.store(),
        metrics=container.metrics(),
        outbox=container.outbox(),
        wake=container.dispatcher().wake,
        clock=container.learner.clock(),
    )


def _learner_readiness(container: LearnerContainer) -> LearnerReadiness:
    return LearnerReadiness(store=container.store(), catalog=container.catalog())


def _options(
    settings: Settings, readiness: Readiness, lifespan: Callable[[], AbstractAsyncContextManager[None]]
) -> HttpOptions:
    return HttpOptions(
        access=AccessPolicy.parse(settings.api_keys, settings.allowed_hosts),
        readiness=readiness,
        request_timeout_s=settings.request_timeout_s,
        max_body_bytes=settings.max_body_bytes,
        lifespan=[lifespan],
    )
