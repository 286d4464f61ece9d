"""The write-ahead log has room before a COMMIT needs it, and nothing reads the room as a part of the log."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from adapters.sql.dialects import parse_dsn
from adapters.sql.log_room import LogRoom
from adapters.sql.sqlite_engine import SqliteEngine

COMMITS = 40
ROW = "x" * 20_000
MIB = 1 << 20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


@pytest.fixture
async def engine(file: Path) -> AsyncIterator[SqliteEngine]:
    engine = opened(file)
    await engine.transaction(_create, writes=True)
    yield engine
    await engine.aclose()


def opened(file: Path) -> SqliteEngine:
    return SqliteEngine(parse_dsn(f"sqlite+aiosqlite:///{file}"))


def log_of(file: Path) -> Path:
    return file.with_name(f"{file.name}-wal")


def _create(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE texts (content TEXT)"))


def _add(connection: Connection) -> None:
    connection.execute(text("INSERT INTO texts VALUES (:row)"), {"row": ROW})


async def added(engine: SqliteEngine, file: Path) -> int:
    """The log's length after one more COMMIT."""
    await engine.transaction(_add, writes=True)
    return log_of(file).stat().st_size


async def test_most_commits_do_not_make_the_log_longer(engine: SqliteEngine, file: Path) -> None:
    lengths = [await added(engine, file) for _ in range(COMMITS)]
    assert len(set(lengths)) <= 1 + COMMITS * 2 * len(ROW) // MIB


async def test_processes_in_turn_do_not_add_room_upon_room(engine: SqliteEngine, file: Path) -> None:
    alone = [await added(engine, file) for _ in range(COMMITS)][-1]
    other = opened(file)
    try:
        for one in (engine, other) * COMMITS:
            length = await added(one, file)
    finally:
        await other.aclose()
    assert length <= 3 * alone + MIB


async def test_what_was_committed_is_read_from_a_log_with_room_at_its_end(
    engine: SqliteEngine, file: Path, tmp_path: Path
) -> None:
    for _ in range(COMMITS):
        await added(engine, file)
    left = tmp_path / "left.db"  # as after a crash: nobody has copied the log into the file
    shutil.copyfile(file, left)
    shutil.copyfile(log_of(file), log_of(left))
    assert log_of(left).read_bytes().endswith(bytes(4096))
    with closing(sqlite3.connect(left)) as connection:
        assert connection.execute("SELECT content FROM texts").fetchall() == [(ROW,)] * COMMITS
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO texts VALUES ('more')")
        connection.commit()
        assert connection.execute("SELECT count(*) FROM texts").fetchone() == (COMMITS + 1,)


def test_a_log_that_is_not_begun_yet_gets_no_room(file: Path) -> None:
    log_of(file).touch()
    room = LogRoom(str(file))
    room.make()
    room.close()
    assert log_of(file).stat().st_size == 0


def test_room_that_cannot_be_made_is_done_without(file: Path) -> None:
    LogRoom(str(file)).make()
    assert not log_of(file).exists()
