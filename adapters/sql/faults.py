"""What the engines' errors mean: try the transaction again, the database is away, or the statement is bad.

PostgreSQL tells by SQLSTATE, MySQL, MariaDB and TiDB by a number, SQLite (before Python 3.11) by its text alone.
"""

from __future__ import annotations

import asyncio

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from domain.errors import StoreUnavailable

#: Two transactions were in each other's way: the whole of this one may be repeated.
_TRY_AGAIN: dict[str | int, str] = {
    "40001": "serialisation failure",
    "40P01": "deadlock",
    "55P03": "lock timeout",
    1020: "record has changed since last read",
    1205: "lock timeout",
    1213: "deadlock",
    8002: "TiDB: SELECT FOR UPDATE conflict",
    8022: "TiDB: commit failed, to be retried",
    8028: "TiDB: the schema has changed",
    9007: "TiDB: write conflict",
}

#: Classes of SQLSTATE with which the database itself is away, full or busy.
_AWAY_CLASSES: dict[str, str] = {
    "08": "connection lost",
    "25006": "it takes no writes",
    "28": "it refuses the login",
    "3D": "there is no such database",
    "42501": "it refuses access",
    "42P01": "its tables are gone",
    "53100": "its disk is full",
    "53300": "it has too many connections",
    "53": "it is short of resources",
    "57014": "it took too long",
    "57P03": "it is starting up",
    "57": "it is shutting down",
    "58": "its disk fails",
    "XX": "it is damaged",
}
_AWAY_CODES: dict[int, str] = {
    1021: "its disk is full",
    1026: "its disk fails",
    1036: "it takes no writes",
    1040: "it has too many connections",
    1041: "it is out of memory",
    1044: "it refuses access",
    1045: "it refuses the login",
    1049: "there is no such database",
    1053: "it is shutting down",
    1114: "its disk is full",
    1142: "it refuses access",
    1203: "it has too many connections",
    1226: "it has too many connections",
    1290: "it takes no writes",
    1317: "the connection was ended",
    1792: "it takes no writes",
    1836: "it takes no writes",
    1927: "the connection was ended",
    1969: "it took too long",
    1146: "its tables are gone",
    2002: "it cannot be reached",
    2003: "it cannot be reached",
    2006: "connection lost",
    2013: "connection lost",
    3024: "it took too long",
    8027: "TiDB: the schema is out of date",
    9001: "TiDB: its placement driver does not answer",
    9002: "TiDB: its storage does not answer",
    9003: "TiDB: its storage is busy",
    9004: "TiDB: too many conflicts",
    9005: "TiDB: its storage does not answer",
}
_AWAY_TEXTS: dict[str, str] = {
    "database is locked": "another process has it locked",
    "database table is locked": "another process has it locked",
    "locking protocol": "another process has it locked",
    "database or disk is full": "the disk is full",
    "disk I/O error": "the disk fails",
    "unable to open database file": "its file cannot be opened",
    "attempt to write a readonly database": "its file cannot be written",
    "file is not a database": "its file is not a database",
    "database disk image is malformed": "its file is damaged",
    "no such table": "its tables are gone: was its file replaced?",
    "interrupted": "it took too long",
}
_LOCKED = "database is locked"

#: What stays as it is until somebody does this. The rest passes by itself, mostly.
_REMEDIES: dict[str, str] = {
    "it refuses the login": "correct the user and the password in its address",
    "it refuses access": "give the user in its address the rights, or correct the address",
    "there is no such database": "create it, or correct its address",
    "its tables are gone": "see that the right database is in place, and start again",
    "its tables are gone: was its file replaced?": "see that the right file is in place, and start again",
    "it takes no writes": "correct its address, or end what makes its server read-only",
    "its disk is full": "make room there",
    "the disk is full": "make room there",
    "its file cannot be opened": "correct its address, or the rights to the file and its folder",
    "its file cannot be written": "correct the rights to the file and its folder",
    "its file is not a database": "correct its address",
    "its file is damaged": "restore it from a backup",
    "its disk fails": "see its server's log",
    "the disk fails": "see the system's log, and whether the file system is read-only",
    "it is damaged": "restore it from a backup",
}


class LastingFault(StoreUnavailable):
    """The database cannot be used until somebody mends it."""


def should_try_again(error: Exception) -> bool:
    """Whether the database gave the transaction up for another one's sake, so that the whole of it may be repeated."""
    return isinstance(error, DBAPIError) and (_code(error) in _TRY_AGAIN or _LOCKED in str(error.orig))


def is_lost(error: Exception) -> bool:
    """Whether the connection broke, so that its transaction is gone; another connection may be sound."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def reason(error: Exception) -> str | None:
    """Why the database cannot be used just now; None where it can and the statement or its data are bad.

    It is a text of ours, since the drivers' own may show more than an answer or a log line should.
    """
    if isinstance(error, PoolTimeout):
        return "all connections are in use"
    if isinstance(error, TimeoutError | asyncio.TimeoutError):  # two kinds before Python 3.11
        return "no answer in time"
    if isinstance(error, OSError):
        return f"it cannot be reached: {type(error).__name__}"
    code = _code(error)
    known = _TRY_AGAIN.get(code) or (_AWAY_CODES.get(code) if isinstance(code, int) else _by_state(code))
    if known is None and isinstance(error, DBAPIError):
        known = _by_text(str(error.orig)) or ("connection lost" if error.connection_invalidated else None)
    return known


def remedy(why: str) -> str | None:
    """What is to be done about this reason; None for one that mostly passes by itself."""
    return _REMEDIES.get(why)


def _code(error: Exception) -> str | int:
    """The number or the SQLSTATE that the server gave; an empty text where it gave none.

    SQLAlchemy 2.0 lets asyncpg's own errors through where a connection cannot be made.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    number = cause.args[0] if cause is not None and cause.args else None
    if isinstance(error, DBAPIError) and isinstance(number, int):
        return number
    state = getattr(cause, "sqlstate", None)
    return state if isinstance(state, str) else ""


def _by_state(state: str) -> str | None:
    return next((known for begin, known in _AWAY_CLASSES.items() if state.startswith(begin)), None)


def _by_text(text: str) -> str | None:
    return next((known for part, known in _AWAY_TEXTS.items() if part in text), None)
