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
        except FileGone:
            return next(self._failures)
        except (sqlite3.Error, OSError):
            self.close()
            return next(self._failures)

    def _data_version(self) -> int:
        """With the number of the connection, since versions of different connections tell nothing about each other."""
        if self._connection is None:
            self._opened.forget_log()
        self._opened.check()
        if self._connection is None:
            if not Path(self._file).exists():
                return 0
            self._connection = sqlite3.connect(self._file, isolation_level=None, timeout=0, check_same_thread=False)
            self._connections += 1
        version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return (self._connections << 32) + version

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class PeriodicWatch(CatalogWatch):
    """Lets the revision be read once in every `period_s` seconds: for a server's database, where a look costs more."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s

    def look(self) -> int:
        return int(time.monotonic() / self._period_s)
