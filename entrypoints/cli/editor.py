"""Writing in the user's own editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from entrypoints.cli.failures import ExitCode, Failure

_USUAL = ("sensible-editor", "nano", "vim", "vi")


def edited(text: str, name: str) -> str:
    """`text` as it is when the editor has been closed. `name` is the file's, which tells the editor its language.

    Raises `Failure` where there is no editor, or where it fails.
    """
    command = _command()
    with tempfile.TemporaryDirectory(prefix="memorygrid-") as folder:
        file = Path(folder) / name
        file.write_text(text, encoding="utf-8", newline="")
        try:
            subprocess.run([*command, str(file)], check=True)  # noqa: S603 - the user's own editor
        except subprocess.CalledProcessError as error:
            message = f"the editor {command[0]} ended with status {error.returncode}: nothing was changed"
            raise Failure(message, ExitCode.USAGE) from error
        except OSError as error:
            message = f"the editor {command[0]} cannot be run ({error}): nothing was changed"
            raise Failure(message, ExitCode.USAGE) from error
        try:
            return file.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(
                f"what the editor left cannot be read ({error}): nothing was changed", ExitCode.USAGE
            ) from error


def kept_for_later(text: str, name: str) -> Path:
    """Where a text now lies that could not be stored, so that it is not lost."""
    handle, place = tempfile.mkstemp(prefix="memorygrid-", suffix=f"-{name}")
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return Path(place)


def _command() -> list[str]:
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        command = shlex.split(named)
    except ValueError as error:
        raise Failure(f"the editor {named!r} cannot be understood: {error}", ExitCode.USAGE) from error
    if command:
        return command
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        message = "an editor needs a terminal: give the new content by options, or set EDITOR to one that needs none"
        raise Failure(message, ExitCode.USAGE)
    usual = next((one for one in _USUAL if shutil.which(one)), None)
    if usual is None:
        raise Failure("no editor was found: set EDITOR, or give the new content by options", ExitCode.USAGE)
    return [usual]
