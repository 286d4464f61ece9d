"""What every test shares: the event loop's kind, patience, and the real servers for those that ask for one."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from hypothesis import settings

pytest_plugins = ["tests.servers.fixtures"] if find_spec("tests.servers.fixtures") else []

settings.register_profile("patient", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("patient")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
