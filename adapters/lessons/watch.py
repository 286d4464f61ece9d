"""How a process notices that another one has changed the catalog, at next to no cost."""

from __future__ import annotations

import itertools
import sqlite3
import time
from pathlib import Path

from adapters.sql.opened_file import FileGone, OpenedFile
from application.learner.ports import CatalogWatch


class SqliteWatch(CatalogWatch):
    """Reads `PRAGMA data_version` on a connection of its own: it moves with every commit of anybody else's.

    The read touches shared memory only (microseconds), so it is done on the caller's thread. Where the file cannot be
    read, or is another one than before, every look differs from the one before, so that the store is asked, which can
    tell why.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._opened = OpenedFile(file)
        self._connection: sqlite3.Connection | None = None
        self._connections = 0
        self._failures = itertools.count(-1, -1)

    def look(self) -> int:
        try:
            return self._data_version()
        except (FileGone, sqlite3.Error, OSError):
            return next(self._failures)

    def _data_version(self) -> int:
        """With the number of the connection, since versions of different connections tell nothing about each other."""
        if self._connection is None:
            if not Path(self._file).exists():
                return 0
            with self._opened.opening():
                connection = _connected(self._file)
            self._connection = connection
            self._connections += 1
        self._opened.check()
        return (self._connections << 32) + _read_version(self._connection)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connected(file: str) -> sqlite3.Connection:
    """A connection that has read once."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=0, check_same_thread=False)
    try:
        _read_version(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _read_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


class PeriodicWatch(CatalogWatch):
    """Lets the revision be read once in every `period_s` seconds: for a server's database, where a look costs more."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s

    def look(self) -> int:
        return int(time.monotonic() / self._period_s)
