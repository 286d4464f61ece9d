"""What every test shares: the event loop's kind, and the real servers for those that ask for one."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

pytest_plugins = ["tests.servers.fixtures"] if find_spec("tests.servers.fixtures") else []


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
