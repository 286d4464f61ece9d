"""The service over the local stores, in this process: the same API, without a network and without its jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx
import msgspec
from dependency_injector import providers

from adapters.sql.database import Database
from application.learner.ports import LessonFiles
from domain.learner.lesson import PromotedLesson
from entrypoints.apps import close_incorporator, incorporator_app
from entrypoints.cli.places import Store, check_exists, check_place, check_tables, is_missing
from entrypoints.cli.service import Service
from entrypoints.cli.session import Use
from entrypoints.cli.terminal import remark
from entrypoints.container import IncorporatorContainer
from entrypoints.settings import LogLevel, Settings, Switch

_IN_MEMORY = "sqlite+aiosqlite:///:memory:"


class _LeftAlone(LessonFiles):
    """Stands before a lessons folder that is not to be written to."""

    async def revision(self) -> int:
        return 0

    async def apply(self, put: Sequence[PromotedLesson], remove: Sequence[str], revision: int) -> None:
        pass


def local_container() -> IncorporatorContainer:
    """The service's parts, by the settings of the environment; whoever can use them is its administrator.

    Raises `InvalidConfiguration`.
    """
    settings = Settings(api_keys="", allowed_hosts="", learner_api=Switch.ON, log_level=LogLevel.WARNING)
    return IncorporatorContainer(settings=settings)


@asynccontextmanager
async def local_service(use: Use, *, of_feedback: bool = False) -> AsyncIterator[Service]:
    """Opens what is used, and closes it.

    The lessons' database must be there, and the feedback's for what is `of_feedback`; `Use` says what else may be.
    Raises `InvalidConfiguration`, `StoreUnavailable`, and `Failure` where there is no such database.
    """
    container = local_container()
    _check_places(container, use, of_feedback=of_feedback)
    is_new = use in (Use.TRIES, Use.ADDS) and await _is_new(container.learner.database())
    if is_new:
        _remark_new(container.learner.database(), use)
    if is_new and use is Use.TRIES:
        settings = msgspec.structs.replace(container.settings(), lessons_dsn=_IN_MEMORY)
        container = IncorporatorContainer(settings=settings)
    if use in (Use.READS, Use.TRIES):
        container.learner.files.override(providers.Object(_LeftAlone()))
    app = incorporator_app(container)
    try:
        if not is_new:
            await _check_tables(container, use, of_feedback=of_feedback)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:  # type: ignore[arg-type]
            yield Service(client, place="the local stores")
    finally:
        await close_incorporator(container)


def _check_places(container: IncorporatorContainer, use: Use, *, of_feedback: bool) -> None:
    """A working directory without databases is most likely the wrong one."""
    lessons = container.learner.database()
    if use in (Use.READS, Use.CHANGES):
        check_exists(lessons, Store.LESSONS)
    if of_feedback:
        check_exists(container.database(), Store.FEEDBACK)
    check_place(lessons, Store.LESSONS)


async def _is_new(database: Database) -> bool:
    """Whether lessons that come in make the database, or its tables."""
    if is_missing(database):
        return True
    try:
        return (await database.check()).current is None
    finally:
        await database.aclose()


def _remark_new(lessons: Database, use: Use) -> None:
    """A database that is new to the service, or that something else uses, may be the wrong one."""
    if not is_missing(lessons):
        made = "they are made" if use is Use.ADDS else "an import makes them"
        remark(f"{lessons.name} ({Store.LESSONS.value}) has no tables of this service yet: {made}.", "yellow")
    elif use is Use.ADDS:
        remark(
            f"There is no lesson database at {lessons.file} yet ({Store.LESSONS.value}): a new, empty one is made.",
            "yellow",
        )


async def _check_tables(container: IncorporatorContainer, use: Use, *, of_feedback: bool) -> None:
    """To read from a database without the tables would make them."""
    may_migrate = use in (Use.CHANGES, Use.ADDS)
    await check_tables(container.learner.database(), Store.LESSONS, may_migrate=may_migrate)
    if of_feedback:
        await check_tables(container.database(), Store.FEEDBACK, may_migrate=may_migrate)
