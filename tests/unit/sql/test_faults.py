"""What the engines' errors mean."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from adapters.sql import faults
from adapters.sql.faults import is_lost, reason, remedy, should_try_again


class ServerError(Exception):
    """As the servers' drivers raise it: PostgreSQL's with a state, MySQL's with a number first."""

    def __init__(self, *args: object, sqlstate: str | None = None) -> None:
        super().__init__(*args)
        self.sqlstate = sqlstate


def of_state(state: str) -> DBAPIError:
    return DBAPIError("SELECT 1", None, ServerError("what the server said", sqlstate=state))


def of_number(number: int) -> DBAPIError:
    return DBAPIError("SELECT 1", None, ServerError(number, "what the server said", sqlstate="HY000"))


def of_text(text: str) -> DBAPIError:
    return DBAPIError("SELECT 1", None, sqlite3.OperationalError(text))


@pytest.mark.parametrize("state", ["40001", "40P01", "55P03"])
def test_what_postgresql_gave_up_for_another_transaction_is_tried_again(state: str) -> None:
    assert should_try_again(of_state(state))


@pytest.mark.parametrize("number", [1020, 1205, 1213, 8002, 8022, 8028, 9007])
def test_what_mysql_or_tidb_gave_up_for_another_transaction_is_tried_again(number: int) -> None:
    assert should_try_again(of_number(number))


def test_a_locked_file_is_tried_again() -> None:
    assert should_try_again(of_text("database is locked"))


@pytest.mark.parametrize("error", [of_state("23505"), of_number(1062), of_state("42601"), of_number(1064)])
def test_a_bad_row_or_statement_is_neither_tried_again_nor_the_databases_fault(error: DBAPIError) -> None:
    assert not should_try_again(error)
    assert reason(error) is None


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("08003", "connection lost"),
        ("08006", "connection lost"),
        ("25006", "takes no writes"),
        ("42P01", "tables are gone"),
        ("28P01", "refuses the login"),
        ("3D000", "no such database"),
        ("40P01", "deadlock"),
        ("42501", "refuses access"),
        ("53100", "disk is full"),
        ("53200", "short of resources"),
        ("53300", "too many connections"),
        ("57014", "took too long"),
        ("57P01", "shutting down"),
        ("57P03", "starting up"),
        ("58030", "disk fails"),
        ("XX001", "damaged"),
    ],
)
def test_postgresql_tells_why_it_cannot_be_used(state: str, why: str) -> None:
    assert why in (reason(of_state(state)) or "")


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (1021, "disk is full"),
        (1040, "too many connections"),
        (1045, "refuses the login"),
        (1049, "no such database"),
        (1146, "tables are gone"),
        (1205, "lock timeout"),
        (1290, "takes no writes"),
        (1927, "connection was ended"),
        (1969, "took too long"),
        (2003, "cannot be reached"),
        (2006, "connection lost"),
        (2013, "connection lost"),
        (3024, "took too long"),
        (9005, "TiDB"),
    ],
)
def test_mysql_and_its_kind_tell_why_they_cannot_be_used(number: int, why: str) -> None:
    assert why in (reason(of_number(number)) or "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("database is locked", "locked"),
        ("database or disk is full", "disk is full"),
        ("disk I/O error", "disk fails"),
        ("unable to open database file", "cannot be opened"),
        ("attempt to write a readonly database", "cannot be written"),
        ("file is not a database", "not a database"),
        ("no such table: catalog_state", "was its file replaced?"),
        ("database disk image is malformed", "damaged"),
    ],
)
def test_sqlite_tells_why_it_cannot_be_used(text: str, why: str) -> None:
    assert why in (reason(of_text(text)) or "")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('db.example.org', 5432)"), "ConnectionRefusedError"),
        (TimeoutError(), "no answer in time"),
        (PoolTimeout("QueuePool limit of size 10"), "all connections are in use"),
    ],
)
def test_what_no_server_told_is_told_in_our_words(error: Exception, why: str) -> None:
    told = reason(error)
    assert told is not None
    assert why in told
    assert "example.org" not in told


def test_a_connection_that_broke_without_a_word_is_known_by_its_state() -> None:
    lost = DBAPIError("SELECT 1", None, ServerError("connection is closed"), connection_invalidated=True)
    assert is_lost(lost)
    assert reason(lost) == "connection lost"
    assert not is_lost(of_state("40P01"))


def test_an_error_of_our_own_is_not_the_databases() -> None:
    assert reason(ValueError("a mistake")) is None
    assert not should_try_again(ValueError("a mistake"))
    assert not is_lost(ValueError("a mistake"))


def test_a_server_that_hangs_is_away_whichever_timeout_this_python_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    class EarlierTimeout(Exception):
        """As asyncio's own is before Python 3.11."""

    monkeypatch.setattr(asyncio, "TimeoutError", EarlierTimeout)
    assert reason(EarlierTimeout()) == reason(TimeoutError()) == "no answer in time"


@pytest.mark.parametrize(
    ("error", "what_to_do"),
    [
        (of_text("file is not a database"), "correct its address"),
        (of_text("database or disk is full"), "make room"),
        (of_text("no such table: lessons"), "right file"),
        (of_state("28P01"), "the user and the password"),
        (of_state("3D000"), "create it"),
        (of_number(1045), "the user and the password"),
        (of_number(1146), "right database"),
    ],
)
def test_what_stays_so_until_somebody_mends_it_is_told_with_what_to_do(error: Exception, what_to_do: str) -> None:
    assert what_to_do in (remedy(reason(error) or "") or "")


@pytest.mark.parametrize("error", [of_text("database is locked"), of_state("57P03"), of_number(2006), TimeoutError()])
def test_what_passes_by_itself_needs_no_remedy(error: Exception) -> None:
    assert remedy(reason(error) or "") is None


def test_every_remedy_is_one_for_a_reason() -> None:
    tables = (faults._TRY_AGAIN, faults._AWAY_CLASSES, faults._AWAY_CODES, faults._AWAY_TEXTS)
    assert faults._REMEDIES.keys() <= {why for table in tables for why in table.values()}
