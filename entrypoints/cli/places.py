"""Where the local stores lie, looked at before anything is opened: a mistyped place makes no new database."""

from __future__ import annotations

import os
import stat
from enum import Enum
from pathlib import Path

from adapters.sql.database import Database
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.escaping import escaped

#: Of every SQLite file that is not empty.
_BEGINNING = b"SQLite format 3\0"


class Store(Enum):
    """A database of the service; the value is the variable that says where it is."""

    LESSONS = "MG_TIDB_DSN"
    FEEDBACK = "MG_FEEDBACK_TIDB_DSN"


def is_missing(database: Database) -> bool:
    """Whether it is a SQLite file that is not there yet, or an empty one, which is as good as none."""
    if database.file is None:
        return False
    try:
        found = Path(database.file).stat()
    except OSError:
        return True
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def check_exists(database: Database, store: Store) -> None:
    """Raises `Failure` where there is no such file, or where none can be read and written."""
    check_place(database, store)
    if is_missing(database):
        message = (
            f"there is no database at {_path(database)} ({store.value}): run this in the service's working directory, "
            "or set the variable. A new one is made by `memorygrid db upgrade`"
        )
        raise Failure(message, ExitCode.USAGE)


async def check_tables(database: Database, store: Store, *, may_migrate: bool) -> None:
    """Raises `Failure` where the database does not have the tables that this program needs.

    With `may_migrate`, only where this program cannot make them of those that are there: another version's. Raises
    `StoreUnavailable` where it does not answer.
    """
    state = await database.check()
    if state.is_up_to_date or (may_migrate and state.is_known and state.in_the_way is None):
        return
    if state.in_the_way is not None:
        raise Failure(f"{state.in_the_way} ({store.value})", ExitCode.USAGE)
    found = "no tables" if state.current is None else f"the tables of schema revision {state.current}"
    message = (
        f"{database.name} ({store.value}) has {found}, and this program needs those of {state.needed}: "
        f"correct the variable, or {'run `memorygrid db upgrade`' if state.is_known else 'update the program'}"
    )
    raise Failure(message, ExitCode.USAGE)


def check_place(database: Database, store: Store) -> None:
    """Raises `Failure` where no file of this path can be made, read and written, however often that is tried."""
    if database.file is None:
        return
    problem = _problem(Path(database.file))
    if problem is not None:
        message = f"{database.name} cannot be at {_path(database)} ({store.value}): {problem}"
        raise Failure(message, ExitCode.USAGE)


def _problem(file: Path) -> str | None:
    """What is wrong with a database's place, and what to do."""
    try:
        file.stat()
    except FileNotFoundError:
        return _problem_of_new(file)
    except NotADirectoryError:
        return "a part of that path is a file: correct the address"
    except OSError as error:
        return f"{_words(error)}: correct the address, or the rights"
    return _problem_of_old(file)


def _problem_of_old(file: Path) -> str | None:
    if not file.is_file():
        return "that is no file: correct the address"
    if not os.access(file, os.R_OK | os.W_OK):
        return "you may not read and write it: run this as the service's user, or correct the rights"
    with file.open("rb") as opened:
        beginning = opened.read(len(_BEGINNING))
    if beginning not in (b"", _BEGINNING):
        return "that file is no SQLite database: correct the address"
    return None


def _problem_of_new(file: Path) -> str | None:
    if not file.parent.is_dir():
        return "there is no such folder: make it, or correct the address"
    if not os.access(file.parent, os.W_OK | os.X_OK):
        return "you may not make files in that folder: run this as the service's user, or correct the rights"
    return None


def _words(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _path(database: Database) -> str:
    return escaped(database.file or "")
