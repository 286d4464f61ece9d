"""Whether the path of a SQLite database still leads to the file that the connections have open.

A file that is deleted or replaced lives on for those who have it open: SQLite goes on writing to it, and all of that
is gone when the process ends.
"""

from __future__ import annotations

import os

_Identity = tuple[int, int]


class FileGone(Exception):
    """The path leads to another file than before, or to none; the text says which file, and what became of it."""


class OpenedFile:
    """The database's file and its write-ahead log, as they were when they were first looked at.

    The log is the connections' own as long as one of them is open; the last one to close deletes it.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)  # noqa: PTH100 - as SQLAlchemy does; the working directory may change
        self._log_path = f"{self._path}-wal"
        self._file: _Identity | None = None
        self._log: _Identity | None = None

    def check(self) -> None:
        """Raises `FileGone`, and `OSError` where the path cannot be looked at. It takes some 5 us.

        What is not there yet is remembered once it is.
        """
        self._file = _same(self._path, self._file)
        self._log = _same(self._log_path, self._log)

    def forget_log(self) -> None:
        """A connection is closed: if it was the last one, the next one makes another log."""
        self._log = None


def _same(path: str, known: _Identity | None) -> _Identity | None:
    """The identity of the file, which must be the known one if there is one."""
    try:
        status = os.stat(path)  # noqa: PTH116 - half the time of a Path's
    except (FileNotFoundError, NotADirectoryError):
        if known is not None:
            raise FileGone(f"{os.path.basename(path)} was deleted") from None  # noqa: PTH119
        return None
    found = (status.st_dev, status.st_ino)
    if known is not None and found != known:
        raise FileGone(f"{os.path.basename(path)} was replaced by another file")  # noqa: PTH119
    return found
