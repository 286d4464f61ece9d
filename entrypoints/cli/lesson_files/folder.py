"""Writing exported files below a folder, each at once or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.lesson_files.results import Saved, Saving
from entrypoints.cli.lesson_files.writing import WrittenFile
from entrypoints.escaping import escaped


def save(folder: Path, file: WrittenFile, *, force: bool) -> Saved:
    """Writes one file below `folder`. Raises `Failure` where that is not possible."""
    path = folder / file.name
    content = file.text.encode("utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.resolve() != folder.resolve() / Path(file.name).parent:
            raise Failure(
                f"{escaped(str(path))} leads out of {escaped(str(folder))} by a symbolic link", ExitCode.USAGE
            )
        if path.is_file() and path.read_bytes() == content:
            return Saved(path=str(path), result=Saving.UNCHANGED)
        if os.path.lexists(path) and not force:
            return Saved(path=str(path), result=Saving.DIFFERS)
        _replace(path, content)
    except OSError as error:
        raise Failure(f"{escaped(str(path))} cannot be written: {error.strerror or error}", ExitCode.USAGE) from error
    return Saved(path=str(path), result=Saving.WRITTEN)


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".memorygrid-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
