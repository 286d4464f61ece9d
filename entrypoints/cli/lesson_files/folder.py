"""Writing exported files below a folder, each at once or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from entrypoints.cli.lesson_files.results import Saved, Saving
from entrypoints.cli.lesson_files.writing import WrittenFile


def save(folder: Path, file: WrittenFile, *, force: bool) -> Saved:
    """Writes one file below `folder`, or says why that is not possible."""
    path = folder / file.name
    content = file.text.encode("utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.resolve() != folder.resolve() / Path(file.name).parent:
            return _failed(path, f"leads out of {folder} by a symbolic link")
        if path.is_file() and path.read_bytes() == content:
            return Saved(path=str(path), result=Saving.UNCHANGED)
        if os.path.lexists(path) and not force:
            return Saved(path=str(path), result=Saving.DIFFERS)
        _replace(path, content)
    except OSError as error:
        return _failed(path, f"cannot be written: {error.strerror or error}")
    return Saved(path=str(path), result=Saving.WRITTEN)


def _failed(path: Path, reason: str) -> Saved:
    return Saved(path=str(path), result=Saving.FAILED, reason=reason)


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
