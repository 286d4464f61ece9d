"""Whether a database takes writes is told where reading goes on, costs nothing, and heals by itself."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timezone
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select, text

from adapters.sql import sqlite_engine, write_check
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE, Schema
from domain.errors import StoreUnavailable
from tests.integration.sql.test_sqlite_outages import files_limited_to, locked_by_another_process
from tests.servers.mariadb import MariaDbServer
from tests.servers.postgres import PostgresServer

SCHEMAS = [pytest.param(one, id=one.name) for one in (OBJECT_STORE, FEEDBACK_DATABASE)]
TABLES = [(schema, name) for schema in (OBJECT_STORE, FEEDBACK_DATABASE) for name in schema.metadata.tables]


@pytest.fixture(autouse=True)
def _asked_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_check, "_HELD_S", 0.2)


@asynccontextmanager
async def opened(dsn: str, schema: Schema = FEEDBACK_DATABASE) -> AsyncIterator[Database]:
    database = Database(dsn, schema, deadline_s=5.0)
    await database.open()
    yield database
    await database.aclose()


def executing(statement: str) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        connection.execute(text(statement))

    return work


async def problem(database: Database) -> str:
    try:
        await database.check_writes()
    except StoreUnavailable as error:
        return error.detail
    return ""


def state_of_log(database: Database) -> os.stat_result:
    """With its time stamps, of SQLite's write-ahead log."""
    return Path(f"{database.file}-wal").stat()


async def healed(database: Database) -> bool:
    """Whether it takes writes within a few seconds, without anybody writing."""
    deadline = time.monotonic() + 10
    while await problem(database):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_a_database_that_takes_writes_is_asked_without_changing_anything(dsn: str, schema: Schema) -> None:
    async with opened(dsn, schema) as database:
        assert await problem(database) == ""
        if database.file is not None:
            before = state_of_log(database)
            assert await problem(database) == ""
            assert state_of_log(database) == before


@pytest.mark.parametrize(("schema", "table"), TABLES, ids=[name for _, name in TABLES])
async def test_each_table_that_is_gone_is_told_with_what_to_do(tmp_path: Path, schema: Schema, table: str) -> None:
    async with opened(f"sqlite+aiosqlite:///{tmp_path}/a.db", schema) as database:
        await database.write(executing(f"DROP TABLE {table}"))
        assert "its tables are gone" in await problem(database)
        assert "see that the right file is in place" in await problem(database)


async def test_tables_that_are_gone_are_told_on_each_server(server_dsn: str) -> None:
    async with opened(server_dsn) as database:
        await database.write(executing("DROP TABLE misses"))
        assert "its tables are gone" in await problem(database)


@pytest.mark.engine("postgres")
async def test_a_postgresql_that_became_read_only_is_told_and_heals_without_a_write(
    postgres_server: PostgresServer,
) -> None:
    name = "read_only"
    async with opened(postgres_server.create_database(name)) as database:
        assert await problem(database) == ""
        postgres_server.run_script(f"ALTER DATABASE {name} SET default_transaction_read_only = on;", "postgres")
        await database.aclose()
        await database.open()
        assert "it takes no writes" in await problem(database)
        assert "correct its address, or end what makes its server read-only" in await problem(database)
        postgres_server.run_script(f"ALTER DATABASE {name} SET default_transaction_read_only = off;", "postgres")
        await database.aclose()
        assert await healed(database)


@pytest.mark.engine("mariadb")
async def test_an_account_that_may_only_read_is_told(mariadb_server: MariaDbServer) -> None:
    async with opened(mariadb_server.create_database("only_read")) as database:
        await database.write(executing("CREATE USER reader IDENTIFIED BY 'reader'"))
        await database.write(executing("GRANT SELECT ON only_read.* TO reader"))
        async with opened(f"mysql+asyncmy://reader:reader@127.0.0.1:{mariadb_server.port}/only_read") as reading:
            assert "it refuses access" in await problem(reading)


async def test_a_sqlite_file_that_may_not_be_written_is_told_until_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(connection: sqlite3.Connection, record: object) -> None:
        set_up(connection, record)
        connection.execute("PRAGMA query_only = ON")

    address, set_up = f"sqlite+aiosqlite:///{tmp_path}/a.db", sqlite_engine._set_up
    async with opened(address):
        pass
    monkeypatch.setattr(sqlite_engine, "_set_up", read_only)
    async with opened(address) as database:
        assert "its file cannot be written" in await problem(database)
        assert "correct the rights to the file and its folder" in await problem(database)
        monkeypatch.setattr(sqlite_engine, "_set_up", set_up)
        await database.aclose()
        assert await healed(database)


async def test_a_full_disk_is_known_from_the_writes_that_fail_and_is_over_once_there_is_room(tmp_path: Path) -> None:
    async with opened(f"sqlite+aiosqlite:///{tmp_path}/a.db") as database:
        row = {"digest": "a", "fingerprint": "b", "at": datetime.now(timezone.utc), "answer": "x" * 100_000}

        def work(connection: Connection) -> None:
            connection.execute(insert(FEEDBACK_DATABASE.requests), [row])

        with files_limited_to(state_of_log(database).st_size):
            with pytest.raises(StoreUnavailable, match="disk"):
                await database.write(work)
            assert "disk" in await problem(database)
            await asyncio.sleep(0.3)
            assert "disk" in await problem(database)
        assert await healed(database)
        found = await database.read(lambda connection: connection.execute(select(FEEDBACK_DATABASE.requests)).all())
        assert found == []


async def test_a_lock_of_another_process_is_no_fault_and_is_not_waited_for(tmp_path: Path) -> None:
    async with opened(f"sqlite+aiosqlite:///{tmp_path}/a.db") as database:
        with locked_by_another_process(tmp_path / "a.db"):
            begun = time.monotonic()
            assert [await problem(database) for _ in range(2)] == ["", ""]
            assert time.monotonic() - begun < 3
        await database.write(executing("DELETE FROM misses"))
