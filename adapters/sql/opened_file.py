"""Whether the path of a SQLite database still leads to the file that the connections have open.

A file that is deleted or replaced lives on for those who have it open: SQLite goes on writing to it, and all of that
is gone when the process ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_Identity = tuple[int, int]


class FileGone(Exception):
    """The path leads to another file than before, or to none; the text says which file, and what became of it."""


class OpenedFile:
    """The database's file and its write-ahead log, as one connection has them open that is kept.

    A connection that has read holds a lock on the file: no process deletes the log of its own accord meanwhile. Without
    one, the last process to close does.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)  # noqa: PTH100 - as SQLAlchemy does; the working directory may change
        self._known: dict[str, _Identity | None] = {}

    @contextmanager
    def opening(self) -> Iterator[None]:
        """For the block that opens the connection to be kept, and reads on it; where it raises, nothing is remembered.

        Raises `OSError` where the path cannot be looked at.
        """
        before = _identity(self._path)
        yield
        known = {self._path: before or _identity(self._path)}
        log = f"{self._path}-wal"
        if (identity := _identity(log)) is not None:
            known[log] = identity
        self._known = known

    def check(self) -> None:
        """Raises `FileGone`, and `OSError` where the path cannot be looked at. It takes some 5 us."""
        for path, known in self._known.items():
            found = _identity(path)
            if found is None:
                raise FileGone(f"{os.path.basename(path)} was deleted")  # noqa: PTH119
            if found != known:
                raise FileGone(f"{os.path.basename(path)} was replaced by another file")  # noqa: PTH119


def _identity(path: str) -> _Identity | None:
    """None where there is no such file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - half the time of a Path's
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino
