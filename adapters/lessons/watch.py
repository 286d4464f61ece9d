"""How a process notices that another one has changed the catalog, at next to no cost."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from application.learner.ports import CatalogWatch


class SqliteWatch(CatalogWatch):
    """Reads `PRAGMA data_version` on a connection of its own: it moves with every commit of anybody else's.

    The read touches shared memory only (microseconds), so it is done on the caller's thread.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None

    def look(self) -> int:
        if self._connection is None:
            if not Path(self._file).exists():
                return 0
            self._connection = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
        version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return version

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
