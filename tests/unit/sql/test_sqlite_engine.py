"""What becomes of the connection on which the database failed."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError, OperationalError

from adapters.sql import dialects
from adapters.sql.dialects import parse_dsn
from adapters.sql.sqlite_engine import SqliteEngine


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[SqliteEngine]:
    engine = SqliteEngine(parse_dsn(f"sqlite+aiosqlite:///{tmp_path / 'x.db'}"))
    await engine.transaction(_create, writes=True)
    yield engine
    await engine.aclose()


def _create(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE numbers (number INTEGER PRIMARY KEY)"))


def _add(connection: Connection) -> object:
    connection.execute(text("INSERT INTO numbers VALUES (1)"))
    return connection.connection.dbapi_connection


def _add_and_fail(connection: Connection) -> None:
    _add(connection)
    raise ValueError


def _count(connection: Connection) -> int:
    return int(connection.execute(text("SELECT count(*) FROM numbers")).scalar_one())


def _failing(_connection: Connection) -> None:
    raise OperationalError("ROLLBACK", None, sqlite3.OperationalError("disk I/O error"))


async def test_a_connection_whose_rollback_failed_does_not_come_back(
    engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(dialects, "roll_back", _failing)
        with pytest.raises(OperationalError):
            await engine.transaction(_add_and_fail, writes=True)
    assert await engine.transaction(_count, writes=False) == 0
    await engine.transaction(_add, writes=True)
    assert await engine.transaction(_count, writes=False) == 1


async def test_a_row_that_is_there_already_costs_no_connection(engine: SqliteEngine) -> None:
    before = await engine.transaction(_add, writes=True)
    with pytest.raises(IntegrityError):
        await engine.transaction(_add, writes=True)
    after = await engine.transaction(lambda connection: connection.connection.dbapi_connection, writes=True)
    assert after is before


async def test_a_database_in_memory_outlives_a_failure() -> None:
    engine = SqliteEngine(parse_dsn("sqlite+aiosqlite:///:memory:"))
    await engine.transaction(_create, writes=True)
    with pytest.raises(OperationalError):
        await engine.transaction(_create, writes=True)
    await engine.transaction(_add, writes=True)
    assert await engine.transaction(_count, writes=False) == 1
    await engine.aclose()
