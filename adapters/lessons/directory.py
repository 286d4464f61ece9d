"""A directory held open, so that what is done beneath it stays beneath it.

Everything is reached relative to the open directory and without following symbolic links: a link that somebody has put
into the folder is never written through, and never leads a deletion astray. Methods raise `OSError`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY
_TEMPORARY = ".tmp-"
_POLL_S = 0.02


class Directory:
    """Comes from `open_directory` and closes with its `with` block."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def names(self) -> Sequence[str]:
        with os.scandir(self._fd) as entries:
            return [entry.name for entry in entries]

    def changed_at(self) -> int:
        """When a name was last added or removed, in nanoseconds, as exactly as the file system keeps it."""
        return os.fstat(self._fd).st_mtime_ns

    def holds(self, name: str) -> bool:
        """Whether anything at all has that name."""
        return self._mode(name) != 0

    def is_directory(self, name: str) -> bool:
        """Whether a directory, and not a link to one, has that name."""
        return stat.S_ISDIR(self._mode(name))

    def _mode(self, name: str) -> int:
        try:
            return os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return 0

    @contextlib.contextmanager
    def child(self, name: str, *, create: bool = False) -> Iterator[Directory]:
        """The directory of that name; a file or a link in its place is an error."""
        if create:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=self._fd)
        fd = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=self._fd)
        try:
            yield Directory(fd)
        finally:
            os.close(fd)

    def read(self, name: str, limit: int) -> bytes | None:
        """The first `limit` bytes of the file; None where no plain file has that name."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._fd)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                return None
            raise
        try:
            content = b""
            while len(content) < limit and (more := os.read(fd, limit - len(content))):
                content += more
        except IsADirectoryError:
            return None
        finally:
            os.close(fd)
        return content

    def replace(self, name: str, content: bytes) -> None:
        """Puts the content under that name, all of it or, whatever happens, none; it is on disk afterwards.

        A file that holds it already is not touched. A link of that name is replaced, not followed.
        """
        if self.read(name, len(content) + 1) == content:
            return
        temporary = _TEMPORARY + secrets.token_hex(8)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=self._fd)
        try:
            _write(fd, content)
            os.rename(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=self._fd)
            raise
        self.sync()

    def remove(self, name: str, file: str) -> None:
        """Removes `file` from the directory `name`, and that as well if nothing else but leavings is in it."""
        try:
            with self.child(name) as child:
                child.tidy()
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(file, dir_fd=child._fd)
            os.rmdir(name, dir_fd=self._fd)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                raise

    def tidy(self) -> None:
        """Removes the leavings of a `replace` that was killed; for whoever has claimed the folder."""
        for name in self.names():
            if name.startswith(_TEMPORARY):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._fd)

    def claim(self, timeout_s: float) -> None:
        """Keeps other processes that claim it waiting until it is closed; raises `TimeoutError`.

        File systems that know no locks do without: then two processes may do the same work.
        """
        give_up = time.monotonic() + timeout_s
        while True:
            try:
                return fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > give_up:
                    reason = f"another process has been at work in it for {timeout_s:g} s"
                    raise TimeoutError(errno.ETIMEDOUT, reason) from error
                time.sleep(_POLL_S)
            except OSError:
                return None

    def sync(self) -> None:
        """Makes names that came and went durable, where the file system knows how to."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise


@contextlib.contextmanager
def open_directory(path: Path, *, create: bool = False) -> Iterator[Directory]:
    """Opens the directory at `path`, following links up to there: where the root lies is the operator's choice."""
    if create:
        path.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, _DIRECTORY)
    try:
        yield Directory(fd)
    finally:
        os.close(fd)


def _write(fd: int, content: bytes) -> None:
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.fsync(fd)
    finally:
        os.close(fd)
