"""Use cases are tested in virtual time: waits, deadlines, leases and backoffs cost nothing and are exact."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.virtual_time import VIRTUAL_TIME


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return VIRTUAL_TIME
