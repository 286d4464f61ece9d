"""Where the time of a durable addition goes, and what the disk alone takes for as many bytes.

The times are taken around the service's own objects while it stores a lesson. The floors are a transaction of SQLite
by itself, and a flush by itself, each with one row of the size of a lesson's three vectors.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from sqlalchemy import Connection

from adapters.sql import dialects
from application.learner.ports import LessonChange
from entrypoints.container import LearnerContainer

STATEMENTS = "the statements before COMMIT"
COMMIT = "COMMIT"
HOPS = "to the store's thread and back, and the rest"
INDEX = "taking over into the vector index"

ROW_BYTES = 3 * 1_024 * 4

_ROW = os.urandom(ROW_BYTES)
_SETTINGS = ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 10000")


class Addition:
    """Stores promoted copies and has the index take them over. `parts` has the seconds of each call's parts."""

    def __init__(self, learner: LearnerContainer) -> None:
        self._learner = learner
        self.parts: list[Mapping[str, float]] = []

    async def __call__(self, change: LessonChange) -> None:
        """Raises `RuntimeError` for a change that is not stored."""
        store = self._learner.store()
        with _transaction() as seen:
            began = time.perf_counter()
            if change.vectors is None or not await store.change(change):
                raise RuntimeError(f"lesson {change.lesson.id} was not stored")
            stored = time.perf_counter()
        await self._learner.vectors().apply([change.vectors], [], 0)
        taken_over = time.perf_counter()
        begun, committing, committed = seen
        self.parts.append(
            {
                STATEMENTS: committing - begun,
                COMMIT: committed - committing,
                HOPS: stored - began - (committed - begun),
                INDEX: taken_over - stored,
            }
        )


@contextmanager
def _transaction() -> Iterator[list[float]]:
    """When the one transaction within the block begins, and when its COMMIT begins and ends."""
    seen: list[float] = []
    begin, commit = dialects.begin, dialects.commit

    def begun(connection: Connection) -> None:
        seen.append(time.perf_counter())
        begin(connection)

    def committed(connection: Connection) -> None:
        seen.append(time.perf_counter())
        commit(connection)
        seen.append(time.perf_counter())

    with mock.patch.object(dialects, "begin", begun), mock.patch.object(dialects, "commit", committed):
        yield seen


class BareTransaction:
    """One row in a transaction of SQLite, as durable as the service's, and nothing else. Its file stays open."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
        for one in _SETTINGS:
            self._connection.execute(f"PRAGMA {one}").fetchall()
        self._connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, vectors BLOB NOT NULL)")

    def __call__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("INSERT INTO bare (vectors) VALUES (?)", (_ROW,))
        self._connection.execute("COMMIT")


class BareFlush:
    """A row's bytes written at the end of a file that grows, and flushed. The file stays open."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "bare").open("ab", buffering=0)

    def __call__(self) -> None:
        self._file.write(_ROW)
        os.fdatasync(self._file.fileno())
