"""SQLite on threads of its own: a transaction costs one hop to a thread and back, however many statements it has.

One thread writes, since SQLite lets one writer in at a time; a few others read beside it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, Generic

import anyio.to_thread
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import QueuePool, StaticPool

from adapters.sql.engine import Engine, T, Work, carry_out
from adapters.sql.opened_file import OpenedFile
from adapters.threads import Threads

_READERS = 4
#: Seconds that SQLite waits for another process's lock before it says that the database is locked.
_BUSY_S = 5.0
#: Pages of the write-ahead log (40 MB) after which it is copied into the file: rarely, since that stops the writer.
_CHECKPOINT_PAGES = 10_000
_LOG_BYTES = 64 * 1024 * 1024
_CACHE_KB = 65_536


class SqliteEngine(Engine):
    """WAL with `synchronous=FULL`: what is committed survives a power cut, and readers never wait for the writer.

    A file that is deleted or replaced beneath the connections is neither read nor written any more, and none is opened
    in its place: `transaction` raises `FileGone`. What came there may have the log of the old one beside it, and SQLite
    would take that for its own. To tell that, the first connection is kept, unused, until the engine is closed.
    """

    def __init__(self, url: URL) -> None:
        path = url.database or ":memory:"
        in_memory = path == ":memory:"
        self._file = None if in_memory else OpenedFile(path)
        self._engine = create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            poolclass=StaticPool if in_memory else QueuePool,
            connect_args={"timeout": _BUSY_S, "check_same_thread": False},
            hide_parameters=True,
            skip_autocommit_rollback=True,
        )
        event.listen(self._engine, "connect", _set_up)
        self._opening = threading.Lock()
        self._kept: Connection | None = None
        self._writing: Connection | None = None
        self._writer = Threads(1, "sqlite-writer")
        self._readers = self._writer if in_memory else Threads(_READERS, "sqlite-reader")

    async def transaction(self, work: Work[T], *, writes: bool) -> T:
        running = _Transaction(work, writes=writes)
        threads, run = (self._writer, self._write) if writes else (self._readers, self._read)
        try:
            return await threads.run(lambda: run(running))
        except asyncio.CancelledError:
            running.give_up()
            raise

    async def aclose(self) -> None:
        await anyio.to_thread.run_sync(self.abandon)

    def abandon(self) -> None:
        for threads in (self._writer, self._readers):
            threads.stop()
        self._forget_writing()
        if self._kept is not None:
            self._kept.close()
        self._engine.dispose()

    def _read(self, running: _Transaction[T]) -> T:
        with self._connect() as connection:
            return running.run(connection)

    def _write(self, running: _Transaction[T]) -> T:
        """On a connection that the writing thread keeps, until the database fails on it."""
        if self._writing is None:
            self._writing = self._connect()
        try:
            return running.run(self._writing, last=self._check_file)
        except IntegrityError:
            raise
        except DBAPIError:
            self._forget_writing(failed=True)
            raise

    def _connect(self) -> Connection:
        """A connection to the file that the kept one has open."""
        if self._file is not None:
            with self._opening:
                if self._kept is None:
                    with self._file.opening():
                        kept = self._engine.connect()
                    self._kept = kept
            self._file.check()
        return self._engine.connect()

    def _forget_writing(self, *, failed: bool = False) -> None:
        """One that failed may have its transaction still, and nobody gets it again (in memory it is the database)."""
        if self._writing is None:
            return
        if failed and self._file is not None:
            self._writing.invalidate()
        self._writing.close()
        self._writing = None

    def _check_file(self) -> None:
        if self._file is not None:
            self._file.check()


class _GivenUp(Exception):
    """Nobody waits for the transaction any more."""


class _Transaction(Generic[T]):
    """A transaction on its thread, which whoever waits for it may give up."""

    def __init__(self, work: Work[T], *, writes: bool) -> None:
        self._work = work
        self._writes = writes
        self._given_up = False
        self._driver: Any = None
        self._guard = threading.Lock()

    def run(self, connection: Connection, last: Callable[[], None] = lambda: None) -> T:
        """The result of the work; `last` comes before the COMMIT, and nothing is committed where it raises."""
        with self._guard:
            self._driver = connection.connection.dbapi_connection
        try:
            return carry_out(connection, lambda of: self._guarded(of, last), writes=self._writes)
        finally:
            with self._guard:
                self._driver = None

    def give_up(self) -> None:
        """Stops the statement that is running; nothing is committed, unless that is just being done."""
        self._given_up = True
        with self._guard:
            if self._driver is not None:
                self._driver.interrupt()

    def _guarded(self, connection: Connection, last: Callable[[], None]) -> T:
        result = self._work(connection)
        last()
        if self._given_up:
            raise _GivenUp
        return result


def _set_up(connection: sqlite3.Connection, _record: object) -> None:
    _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    connection.execute("PRAGMA schema_version").fetchall()  # which opens the log: nobody else deletes it from now on


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait by itself when two processes switch a new file at once."""
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
