"""A SQLite file that is locked, full, unreadable or none at all: 503 with the reason, and recovery by itself."""

from __future__ import annotations

import asyncio
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE
from application.feedback.ports import EntryFilter
from domain.errors import StoreUnavailable
from domain.feedback.entry import FeedbackEntry
from domain.feedback.metrics import counted, total
from tests.fakes.clock import CountingIds
from tests.fakes.examples import entry, select
from tests.fakes.together import together

pytestmark = pytest.mark.faults

LOCKER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
"""


@asynccontextmanager
async def opened(file: Path, deadline_s: float = 5.0) -> AsyncIterator[SqlFeedbackStore]:
    database = Database(f"sqlite+aiosqlite:///{file}", FEEDBACK_DATABASE, deadline_s=deadline_s)
    yield SqlFeedbackStore(database=database, new_id=CountingIds(9))
    await database.aclose()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "feedback.db"


@pytest.fixture
def text_file(file: Path) -> Iterator[Path]:
    content = b"this is a text file, and a rather long one " * 100
    file.write_bytes(content)
    yield file
    assert file.read_bytes() == content


def entries(count: int, series: int = 1, **fields: object) -> list[FeedbackEntry]:
    new_id = CountingIds(series)
    return [entry(id=new_id(), transaction_log_ref=new_id(), **fields) for _ in range(count)]


@contextmanager
def locked_by_another_process(file: Path) -> Iterator[None]:
    command = [sys.executable, "-c", LOCKER, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            process.communicate("done\n")


async def check(store: SqlFeedbackStore, acknowledged: int) -> None:
    stored = (await store.page(EntryFilter(), 1000, None)).entries
    assert len(stored) == acknowledged
    assert total((await store.counters()).values()) == total(map(counted, stored))


async def test_a_lock_that_ends_in_time_is_waited_for(file: Path) -> None:
    async with opened(file) as store:
        await store.page(EntryFilter(), 1, None)
        with locked_by_another_process(file):
            recording = asyncio.create_task(store.record(select(entry())))
            await asyncio.sleep(0.3)
            assert not recording.done()
            assert (await store.page(EntryFilter(), 1, None)).entries == []
        assert await recording is None
        await check(store, 1)


async def test_a_lock_that_does_not_end_is_told_in_time_and_nothing_is_stored_later(file: Path) -> None:
    async with opened(file, deadline_s=0.5) as store:
        await store.page(EntryFilter(), 1, None)
        with locked_by_another_process(file):
            begun = time.monotonic()
            results = await together(*(store.record(select(one)) for one in entries(5)))
            assert {type(one) for one in results} == {StoreUnavailable}
            assert time.monotonic() - begun < 2
        (late,) = entries(1, series=2)
        with_patience = Database(f"sqlite+aiosqlite:///{file}", FEEDBACK_DATABASE)
        await SqlFeedbackStore(database=with_patience, new_id=CountingIds(8)).record(select(late))
        await with_patience.aclose()
        await check(store, 1)


async def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        with pytest.raises(StoreUnavailable, match="cannot be opened"):
            await store.record(select(entry()))


async def test_a_file_that_is_no_database_is_told_and_left_as_it_is(text_file: Path) -> None:
    async with opened(text_file) as store:
        with pytest.raises(StoreUnavailable, match="not a database"):
            await store.record(select(entry()))


async def test_a_folder_that_is_missing_is_told_and_used_once_it_is_there(tmp_path: Path) -> None:
    file = tmp_path / "later" / "feedback.db"
    async with opened(file) as store:
        with pytest.raises(StoreUnavailable, match="cannot be opened"):
            await store.record(select(entry()))
        await asyncio.to_thread(file.parent.mkdir)
        await store.record(select(entry()))
        await check(store, 1)


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """Writes beyond this size fail, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


async def test_a_full_disk_is_told_loses_nothing_and_is_used_again_once_there_is_room(file: Path) -> None:
    big = {"padding": "x" * 50_000}
    async with opened(file) as store:
        await store.record(select(entry(selection_context=big)))
        acknowledged = 1
        with files_limited_to(512 * 1024):
            results = await together(*(store.record(select(one)) for one in entries(60, selection_context=big)))
            refused = [one for one in results if one is not None]
            assert refused
            assert all(isinstance(one, StoreUnavailable) for one in refused)
            assert all("disk" in str(one) for one in refused)
            acknowledged += results.count(None)
            await check(store, acknowledged)
        for one in entries(3, series=2):
            await store.record(select(one))
        await check(store, acknowledged + 3)


async def test_a_database_may_be_written_by_somebody_else_at_the_same_time(file: Path) -> None:
    async with opened(file) as store:
        await store.record(select(entry()))
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("UPDATE lesson_counters SET usage_count = usage_count + 10")
        assert (await store.counters())[entry().lesson_skill_id].usage_count == 11


async def test_a_query_that_takes_too_long_is_stopped(file: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    database = Database(f"sqlite+aiosqlite:///{file}", FEEDBACK_DATABASE, deadline_s=0.3)
    for _ in range(6):
        with pytest.raises(StoreUnavailable, match="no answer in time"):
            await database.read(lambda connection: connection.exec_driver_sql(endless).all())
    with pytest.raises(StoreUnavailable, match="no answer in time"):
        await database.write(lambda connection: connection.exec_driver_sql(endless).all())
    assert await database.read(lambda connection: connection.exec_driver_sql("SELECT 1").all()) == [(1,)]
    begun = time.monotonic()
    await database.aclose()
    assert time.monotonic() - begun < 2
