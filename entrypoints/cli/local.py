"""The service over the local stores, in this process: the same API, without a network and without its jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from entrypoints.apps import close_incorporator, incorporator_app
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
async def local_service() -> AsyncIterator[Service]:
    """Opens what is used, and closes it. Raises `InvalidConfiguration`."""
    container = local_container()
    _tell_of_new_databases(container)
    app = incorporator_app(container)
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:  # type: ignore[arg-type]
            yield Service(client, place="the local stores")
    finally:
        await close_incorporator(container)


def _tell_of_new_databases(container: IncorporatorContainer) -> None:
    """A working directory without databases is most likely the wrong one."""
    file = container.learner.database().file
    if file is not None and not Path(file).exists():
        remark(f"There is no lesson database at {file} yet (MG_TIDB_DSN): a new, empty one is made.", "yellow")
