"""A new database for a test, on each engine, and the servers that a test may stop and kill."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE
from tests.servers.fixtures import require
from tests.servers.mariadb import MariaDbServer
from tests.servers.postgres import PostgresServer

SqlServer = PostgresServer | MariaDbServer

_numbers = itertools.count(1)

ON_SERVERS = [
    pytest.param(PostgresServer, id="postgres", marks=pytest.mark.engine("postgres")),
    pytest.param(MariaDbServer, id="mariadb", marks=pytest.mark.engine("mariadb")),
]
ENGINES = [pytest.param("sqlite", id="sqlite"), *ON_SERVERS]


def new_address(request: pytest.FixtureRequest, engine: type[SqlServer] | str) -> str:
    """The address of an empty database on an engine; on a server that all tests share."""
    name = f"test_{next(_numbers)}"
    if isinstance(engine, str):
        folder: Path = request.getfixturevalue("tmp_path")
        return f"sqlite+aiosqlite:///{folder}/{name}.db"
    server: SqlServer = request.getfixturevalue(f"{engine.name}_server")
    return server.create_database(name)


@pytest.fixture(params=ENGINES)
def dsn(request: pytest.FixtureRequest) -> str:
    """An empty database on each engine."""
    return new_address(request, request.param)


@pytest.fixture(params=ON_SERVERS)
def server_dsn(request: pytest.FixtureRequest) -> str:
    """An empty database on each server."""
    return new_address(request, request.param)


@pytest.fixture(params=ON_SERVERS)
def own_server(request: pytest.FixtureRequest) -> Iterator[SqlServer]:
    """A server that the test has for itself."""
    require(request.param)
    with request.param() as server:
        yield server


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    """A feedback database on each engine."""
    opened = Database(dsn, FEEDBACK_DATABASE)
    yield opened
    await opened.aclose()
