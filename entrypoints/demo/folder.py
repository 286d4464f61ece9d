"""The demo's own folder: databases, lessons, rules and the service's log, away from everything of the user's."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from entrypoints.demo.samples import RULES_FILE, config_folder

_MARKER = ".memorygrid-demo"


class FolderTaken(Exception):
    """The folder holds something that is not the demo's."""


def story_folder(base: Path) -> Path:
    """A new folder below `base`, which only this user can read."""
    base.mkdir(parents=True, exist_ok=True)
    return _furnished(Path(tempfile.mkdtemp(prefix="story-", dir=base)))


def serving_folder(base: Path, *, fresh: bool) -> Path:
    """The folder that `--serve` keeps from run to run; emptied first when `fresh`. Raises `FolderTaken`."""
    folder = base / "serve"
    if folder.exists() and any(folder.iterdir()):
        if not (folder / _MARKER).is_file():
            raise FolderTaken(f"{folder} holds files that are not the demo's: choose another place with --folder")
        if not fresh:
            return folder
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _furnished(folder)


def remove(folder: Path) -> None:
    """Removes the demo's folder, and the one around it where that is empty then."""
    shutil.rmtree(folder, ignore_errors=True)
    if not any(folder.parent.iterdir()):
        folder.parent.rmdir()


def _furnished(folder: Path) -> Path:
    """With a copy of the rules where a service that starts here looks for them."""
    (folder / _MARKER).touch()
    (folder / "config").mkdir()
    shutil.copy(config_folder() / RULES_FILE, folder / "config" / RULES_FILE)
    return folder
