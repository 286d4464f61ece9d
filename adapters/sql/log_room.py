"""Room at the end of SQLite's write-ahead log, made before it is needed.

A COMMIT that makes the log longer has to wait for the file system's own journal too. One that writes over what is there
does not, and takes about two thirds of the time; by itself SQLite gets there after the first checkpoint only.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

_ADDED: Final = 1 << 20
_LEAST: Final = 1 << 18
"""Bytes of room that are added, once fewer than so many are left."""

_EMPTY: Final = bytes(8192)
"""As much as a frame of the log takes at least, and so never a part of one: each begins with random numbers."""


class LogRoom:
    """Of one database file. Zeros at the log's end are no part of it: they are no frame, as SQLite reads the file.

    Not for several threads at once.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(f"{path}-wal").absolute()
        self._log: BinaryIO | None = None

    def make(self) -> None:
        """Adds room where little is left; to be called within a transaction that has SQLite's write lock.

        Where that fails SQLite finds no more room than before, which is all that it needs.
        """
        with suppress(OSError):
            if self._log is None:
                self._log = self._path.open("r+b", buffering=0)
            size = os.fstat(self._log.fileno()).st_size
            self._log.seek(max(size - _LEAST, 0))
            if size and self._log.read(len(_EMPTY)) != _EMPTY:
                self._log.seek(size)
                self._log.write(bytes(_ADDED))

    def close(self) -> None:
        """The next `make` opens the log again."""
        if self._log is not None:
            self._log.close()
            self._log = None
