"""The servers as pytest fixtures: each started when the first test asks, ended with the session.

Every worker of a parallel run has its own. Tests that stop or kill a server start one for themselves, since others may
hold connections to these.
"""

import os
from collections.abc import Iterator
from typing import TypeVar

import pytest

from tests.servers.mariadb import MariaDbServer
from tests.servers.milvus import MilvusServer
from tests.servers.postgres import PostgresServer
from tests.servers.process import ServerProcess

_Server = TypeVar("_Server", bound=ServerProcess)


def require(server: type[ServerProcess]) -> None:
    """Skip the test, with the reason, if this machine cannot have the server; in CI that is a failure."""
    reason = server.unavailable()
    if reason is None:
        return
    message = f"no {server.name} server: {reason}"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def _running(server: type[_Server]) -> Iterator[_Server]:
    require(server)
    with server() as running:
        yield running


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """PostgreSQL with pgvector."""
    yield from _running(PostgresServer)


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDbServer]:
    """MariaDB."""
    yield from _running(MariaDbServer)


@pytest.fixture(scope="session")
def milvus_server() -> Iterator[MilvusServer]:
    """Milvus Lite."""
    yield from _running(MilvusServer)
