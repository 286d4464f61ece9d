"""The service over the local stores, in this process: the same API, without a network and without its jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from entrypoints.apps import close_incorporator, incorporator_app
from entrypoints.cli.places import Store, check_exists, check_place, is_missing
from entrypoints.cli.service import Service
from entrypoints.cli.terminal import remark
from entrypoints.container import IncorporatorContainer
from entrypoints.settings import LogLevel, Settings, Switch


def local_container() -> IncorporatorContainer:
    """The service's parts, by the settings of the environment; whoever can use them is its administrator.

    Raises `InvalidConfiguration`.
    """
    settings = Settings(api_keys="", allowed_hosts="", learner_api=Switch.ON, log_level=LogLevel.WARNING)
    return IncorporatorContainer(settings=settings)


@asynccontextmanager
async def local_service(*, adds: bool = False, of_feedback: bool = False) -> AsyncIterator[Service]:
    """Opens what is used, and closes it.

    The lessons' database must be there, and the feedback's for what is `of_feedback`; what `adds` lessons makes one.
    Raises `InvalidConfiguration`, and `Failure` where there is no such database.
    """
    container = local_container()
    _check_places(container, adds=adds, of_feedback=of_feedback)
    app = incorporator_app(container)
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:  # type: ignore[arg-type]
            yield Service(client, place="the local stores")
    finally:
        await close_incorporator(container)


def _check_places(container: IncorporatorContainer, *, adds: bool, of_feedback: bool) -> None:
    """A working directory without databases is most likely the wrong one."""
    lessons = container.learner.database()
    if not adds:
        check_exists(lessons, Store.LESSONS)
    if of_feedback:
        check_exists(container.database(), Store.FEEDBACK)
    check_place(lessons, Store.LESSONS)
    if is_missing(lessons):
        remark(f"There is no lesson database at {lessons.file} yet (MG_TIDB_DSN): a new, empty one is made.", "yellow")
