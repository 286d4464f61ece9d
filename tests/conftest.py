"""What every test shares: the event loop's kind, patience, and the real servers for those that ask for one."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.servers.event_loop import EventLoop

pytest_plugins = ["tests.servers.fixtures", "tests.contract.table"]

settings.register_profile("patient", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("patient")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, type[EventLoop]]]:
    return "asyncio", {"loop_factory": EventLoop}


@pytest.fixture(autouse=True)
def _loggers_as_they_were() -> Iterator[None]:
    """A test that sets the service's logging up does not take the records away from those after it."""
    yield
    for name in ("application", "adapters", "entrypoints"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        logger.setLevel(logging.NOTSET)
