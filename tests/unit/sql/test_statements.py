"""Statements of the hot path hand over exactly what they are given."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    bindparam,
    create_engine,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, OperationalError

from adapters.sql import dialects
from adapters.sql.statements import Lookup, Prepared, key_name
from adapters.sql.types import Json, Utc

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)
notes = Table(
    "notes",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("name", String(20), nullable=False),
    Column("content", Json),
    Column("at", Utc),
)
INSERT = Prepared(lambda _: insert(notes).inline(), ["id", "name", "content", "at"])


def by_ids(count: int) -> Select[Any]:
    keys = [bindparam(key_name(number), type_=notes.c.id.type) for number in range(count)]
    return select(notes).where(notes.c.id.in_(keys)).order_by(notes.c.id)


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://", isolation_level="AUTOCOMMIT")
    with engine.connect() as opened:
        notes.create(opened)
        yield opened
    engine.dispose()


def test_rows_come_back_as_they_were_given(connection: Connection) -> None:
    rows = [(1, "one", {"é": [None, 1.5]}, MOMENT), (2, "two", None, None)]
    INSERT.run_many(connection, rows)
    assert [tuple(row) for row in Lookup(by_ids).fetch(connection, [(1,), (2,)])] == rows


def test_values_are_given_in_the_order_of_their_names_whatever_the_statements_is(connection: Connection) -> None:
    INSERT.run_many(connection, [(1, "one", {}, None), (2, "two", {}, None)])
    rename = Prepared(
        lambda _: (
            update(notes)
            .where(notes.c.id == bindparam("which"))
            .values(name=bindparam("new_name"), content=bindparam("new_content", type_=notes.c.content.type))
        ),
        ["which", "new_content", "new_name"],
    )
    rename.run_many(connection, [(2, {"n": 2}, "zwei"), (1, {"n": 1}, "eins")])
    found = connection.execute(select(notes.c.name, notes.c.content).order_by(notes.c.id)).all()
    assert found == [("eins", {"n": 1}), ("zwei", {"n": 2})]


def test_a_statement_keeps_its_own_constants(connection: Connection) -> None:
    INSERT.run_many(connection, [(number, "same", None, None) for number in range(5)])
    query = select(notes.c.id).where(notes.c.name == bindparam("name"), notes.c.id > 1).order_by(notes.c.id)
    first = Prepared(lambda _: query.limit(literal_column("1")), ["name"])
    assert [tuple(row) for row in first.fetch(connection, ["same"])] == [(2,)]


@pytest.mark.parametrize("count", [0, 1, 2, 4, 5, 64, 127, 128, 129, 300])
def test_any_number_of_keys_is_looked_up(connection: Connection, count: int) -> None:
    INSERT.run_many(connection, [(number, "x", None, None) for number in range(400)])
    found = Lookup(by_ids).fetch(connection, [(number,) for number in range(count)])
    assert [row[0] for row in found] == list(range(count))


def test_a_row_that_cannot_be_stored_is_an_error_like_any_other_of_the_database(connection: Connection) -> None:
    with pytest.raises(IntegrityError):
        INSERT.run_many(connection, [(1, "one", None, None), (1, "again", None, None)])
    with pytest.raises(OperationalError):
        dialects.run(connection, "SELECT nonsense")


def test_a_moment_is_kept_in_utc_with_microseconds_and_ordered(connection: Connection) -> None:
    moments = [MOMENT, MOMENT.replace(microsecond=0), MOMENT.replace(year=2027)]
    INSERT.run_many(connection, [(number, "x", None, moment) for number, moment in enumerate(moments)])
    assert connection.execute(select(notes.c.at).order_by(notes.c.at)).scalars().all() == sorted(moments)
