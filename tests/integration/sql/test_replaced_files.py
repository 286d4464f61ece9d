"""A SQLite file that is deleted or replaced beneath a running process: nothing is acknowledged that would be lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from sqlalchemy import Connection

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.lessons.watch import SqliteWatch
from adapters.sql import sqlite_engine
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE
from application.feedback.ports import EntryFilter
from domain.errors import StoreUnavailable
from tests.fakes.clock import CountingIds
from tests.fakes.examples import entry, select


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "feedback.db"


@pytest.fixture
async def database(file: Path) -> AsyncIterator[Database]:
    database = Database(f"sqlite+aiosqlite:///{file}", FEEDBACK_DATABASE)
    yield database
    await database.aclose()


@pytest.fixture
def store(database: Database) -> SqlFeedbackStore:
    return SqlFeedbackStore(database=database, new_id=CountingIds(9))


_new_id = CountingIds(1)


async def record(store: SqlFeedbackStore) -> None:
    await store.record(select(entry(id=_new_id(), transaction_log_ref=_new_id())))


async def count(store: SqlFeedbackStore) -> int:
    return len((await store.page(EntryFilter(), 1000, None)).entries)


def log_of(file: Path) -> Path:
    return file.with_name(f"{file.name}-wal")


def delete(file: Path) -> None:
    file.unlink()


def delete_the_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def replace(file: Path) -> None:
    """As an operator does who restores a backup and forgets that the service runs."""
    backup = file.with_name("backup.db")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    os.replace(backup, file)  # noqa: PTH105


def delete_the_log(file: Path) -> None:
    log_of(file).unlink()


def create_notes(connection: Connection) -> None:
    connection.exec_driver_sql("CREATE TABLE notes (number INTEGER)")
    connection.exec_driver_sql("INSERT INTO notes VALUES (1)")


def notes_in(file: Path) -> list[int]:
    with closing(sqlite3.connect(file)) as connection:
        return [number for (number,) in connection.execute("SELECT number FROM notes")]


_ALONE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("CREATE TABLE IF NOT EXISTS others (number INTEGER)")
print("ready", flush=True)
sys.stdin.read()
connection.close()
"""


def alone_on(file: Path) -> Popen[str]:
    """Another process that keeps everybody out of the file until it ends; then it deletes the log."""
    other = Popen([sys.executable, "-c", _ALONE, str(file)], stdin=PIPE, stdout=PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    assert log_of(file).exists()
    log_of(file).with_name("kept-wal").hardlink_to(log_of(file))  # so that the next log is told from this one
    return other


def end(other: Popen[str]) -> None:
    other.communicate(timeout=10)
    assert other.returncode == 0


@pytest.mark.parametrize(
    ("break_it", "what"),
    [
        (delete, "feedback.db was deleted"),
        (delete_the_folder, "feedback.db was deleted"),
        (replace, "feedback.db was replaced by another file"),
        (delete_the_log, "feedback.db-wal was deleted"),
    ],
)
async def test_neither_reads_nor_writes_go_on_and_the_reason_says_what_to_do(
    store: SqlFeedbackStore, file: Path, break_it: Callable[[Path], None], what: str
) -> None:
    await record(store)
    await asyncio.to_thread(break_it, file)
    for attempt in (record, count, record):
        with pytest.raises(StoreUnavailable, match=rf"its file {what}.*start again") as refused:
            await attempt(store)
        assert str(file.parent) not in refused.value.detail


async def test_a_transaction_that_is_on_its_way_when_the_file_is_replaced_commits_nothing(
    database: Database, file: Path
) -> None:
    def work(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO notes VALUES (2)")
        replace(file)

    await database.write(create_notes)
    old, old_log = file.with_name("old.db"), file.with_name("old.db-wal")
    old.hardlink_to(file)
    old_log.hardlink_to(log_of(file))
    with pytest.raises(StoreUnavailable, match="replaced"):
        await database.write(work)
    await database.aclose()
    assert notes_in(old) == notes_in(file) == [1]


async def test_a_statement_that_fails_does_not_let_a_deleted_log_be_forgotten(
    store: SqlFeedbackStore, database: Database, file: Path
) -> None:
    await record(store)
    assert await count(store) == 1
    await asyncio.to_thread(delete_the_log, file)
    with pytest.raises(StoreUnavailable, match="tables are gone"):
        await database.write(lambda connection: connection.exec_driver_sql("DELETE FROM no_table"))
    for attempt in (record, count, record):
        with pytest.raises(StoreUnavailable, match=r"feedback\.db-wal was deleted"):
            await attempt(store)
    assert await asyncio.to_thread(log_of(file).exists) is False


async def test_a_process_that_cannot_write_just_then_does_not_forget_a_deleted_log(
    store: SqlFeedbackStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_engine, "_BUSY_S", 0.05)
    await record(store)
    assert await count(store) == 1
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN IMMEDIATE")
        await asyncio.to_thread(delete_the_log, file)
        with pytest.raises(StoreUnavailable):
            await record(store)
    with pytest.raises(StoreUnavailable, match=r"feedback\.db-wal was deleted"):
        await record(store)


async def test_a_file_that_was_never_opened_may_be_replaced_without_a_restart(
    store: SqlFeedbackStore, database: Database, file: Path
) -> None:
    await record(store)
    await database.aclose()
    good = await asyncio.to_thread(file.rename, file.with_name("good.db"))
    await asyncio.to_thread(file.write_bytes, b"no database " * 1000)
    with pytest.raises(StoreUnavailable, match="not a database"):
        await record(store)
    await asyncio.to_thread(good.replace, file)
    await record(store)
    assert await count(store) == 2


async def test_a_file_that_is_replaced_while_it_is_being_opened_is_not_written_to(
    store: SqlFeedbackStore, database: Database, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(store)
    await database.aclose()
    switch = sqlite_engine._switch_to_wal

    def replaced(connection: sqlite3.Connection) -> None:
        monkeypatch.undo()
        switch(connection)
        replace(file)

    monkeypatch.setattr(sqlite_engine, "_switch_to_wal", replaced)
    with pytest.raises(StoreUnavailable, match="replaced"):
        await record(store)


async def test_a_log_that_another_process_deletes_as_the_last_to_close_is_no_file_that_was_deleted(
    store: SqlFeedbackStore, database: Database, file: Path
) -> None:
    await record(store)
    await database.aclose()
    other = await asyncio.to_thread(alone_on, file)
    first = asyncio.create_task(record(store))
    await asyncio.sleep(0.3)
    assert not first.done()
    await asyncio.to_thread(end, other)
    await first
    await record(store)
    assert await count(store) == 3


async def test_a_log_that_is_deleted_while_the_catalog_opens_the_file_does_not_count_as_a_change(
    store: SqlFeedbackStore, database: Database, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(store)
    await database.aclose()
    connect, other = sqlite3.connect, await asyncio.to_thread(alone_on, file)

    def connect_late(*args: Any, **options: Any) -> sqlite3.Connection:
        end(other)
        connection: sqlite3.Connection = connect(*args, **options)
        return connection

    watch = SqliteWatch(str(file))
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", connect_late)
        looks = {watch.look()}
    await record(store)
    looks.add(watch.look())
    assert len(looks) == 2
    assert watch.look() == watch.look()
    watch.close()


async def test_no_file_is_made_in_the_place_of_one_that_was_deleted(
    store: SqlFeedbackStore, database: Database, file: Path
) -> None:
    await record(store)
    delete(file)
    for _ in range(6):
        with pytest.raises(StoreUnavailable):
            await count(store)
    await database.aclose()
    assert await asyncio.to_thread(file.exists) is False


async def test_a_backup_that_was_put_in_place_is_left_as_it_is_and_used_after_a_restart(
    store: SqlFeedbackStore, database: Database, file: Path
) -> None:
    await record(store)
    await asyncio.to_thread(replace, file)
    restored = await asyncio.to_thread(file.read_bytes)
    with pytest.raises(StoreUnavailable):
        await record(store)
    await database.aclose()
    assert await asyncio.to_thread(file.read_bytes) == restored
    for left in (log_of(file), file.with_name(f"{file.name}-shm")):
        left.unlink()
    assert await count(store) == 1
    await record(store)
    assert await count(store) == 2


async def test_a_file_that_comes_back_is_used_again_at_once(store: SqlFeedbackStore, file: Path) -> None:
    await record(store)
    aside = file.with_name("aside.db")
    await asyncio.to_thread(file.rename, aside)
    with pytest.raises(StoreUnavailable):
        await record(store)
    await asyncio.to_thread(aside.rename, file)
    await record(store)
    assert await count(store) == 2


async def test_a_backup_that_is_written_into_the_file_is_used_without_a_restart(
    store: SqlFeedbackStore, file: Path
) -> None:
    await record(store)
    backup = file.with_name("backup.db")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    await record(store)
    assert await count(store) == 2
    with closing(sqlite3.connect(backup)) as source, closing(sqlite3.connect(file)) as target:
        source.backup(target)
    assert await count(store) == 1
    await record(store)
    assert await count(store) == 2


async def test_what_was_stored_before_its_log_was_deleted_is_there_after_a_restart(
    store: SqlFeedbackStore, database: Database, file: Path
) -> None:
    await record(store)
    delete_the_log(file)
    with pytest.raises(StoreUnavailable):
        await record(store)
    await database.aclose()
    assert await count(store) == 1


async def test_a_working_directory_that_changes_is_not_a_file_that_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    database = Database("sqlite+aiosqlite:///./feedback.db", FEEDBACK_DATABASE)
    store = SqlFeedbackStore(database=database, new_id=CountingIds(9))
    await record(store)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    await record(store)
    assert await count(store) == 2
    await database.aclose()


async def test_the_catalog_asks_the_store_at_every_look_once_the_file_was_replaced(
    store: SqlFeedbackStore, file: Path
) -> None:
    await record(store)
    watch = SqliteWatch(str(file))
    assert watch.look() == watch.look()
    await asyncio.to_thread(replace, file)
    assert len({watch.look() for _ in range(3)}) == 3
    watch.close()
