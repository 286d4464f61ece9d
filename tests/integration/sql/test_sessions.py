"""Connections and tables are set up alike, whatever the server's own defaults are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, insert, select, update
from sqlalchemy.engine import make_url

from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE
from adapters.sql.tables import applied_escalations, catalog_state
from domain.errors import StoreUnavailable

SETTINGS: dict[str, dict[str, Any]] = {
    "postgres": {
        "SHOW transaction_isolation": "read committed",
        "SHOW statement_timeout": "10s",
        "SHOW lock_timeout": "5s",
    },
    "mariadb": {
        "SELECT @@tx_isolation": "READ-COMMITTED",
        "SELECT @@sql_mode": "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION",
        "SELECT @@innodb_lock_wait_timeout": 5,
        "SELECT @@max_statement_time": 10,
        "SELECT @@character_set_client": "utf8mb4",
    },
    "sqlite": {
        "PRAGMA journal_mode": "wal",
        "PRAGMA synchronous": 2,
    },
}


@pytest.mark.parametrize("writes", [False, True])
async def test_every_transaction_runs_with_the_same_settings(dsn: str, writes: bool) -> None:
    database = Database(dsn, OBJECT_STORE)
    await database.upgrade()
    kind = {"postgresql": "postgres", "mysql": "mariadb", "sqlite": "sqlite"}[make_url(dsn).get_backend_name()]
    expected = SETTINGS[kind]

    def work(connection: Connection) -> dict[str, Any]:
        return {query: connection.exec_driver_sql(query).scalar() for query in expected}

    assert await (database.write(work) if writes else database.read(work)) == expected
    await database.aclose()


async def test_a_row_counts_as_found_also_where_an_update_leaves_it_as_it_is(dsn: str) -> None:
    database = Database(dsn, OBJECT_STORE)
    same = update(catalog_state).values(revision=0)
    assert await database.write(lambda connection: connection.execute(same).rowcount) == 1
    assert (
        await database.write(lambda connection: connection.execute(same.where(catalog_state.c.id == 2)).rowcount) == 0
    )
    await database.aclose()


async def test_a_transaction_that_fails_leaves_nothing_behind(dsn: str) -> None:
    database = Database(dsn, OBJECT_STORE)

    def fail(connection: Connection) -> None:
        connection.execute(update(catalog_state).values(revision=99))
        raise StoreUnavailable("on purpose")

    with pytest.raises(StoreUnavailable, match="on purpose"):
        await database.write(fail)
    revision = catalog_state.select()
    assert await database.read(lambda connection: connection.execute(revision).all()) == [(1, 0)]
    assert await database.write(lambda connection: connection.execute(revision).all()) == [(1, 0)]
    await database.aclose()


@pytest.mark.parametrize("hours", [0, 5.75, -9.5])
async def test_a_moment_comes_back_in_utc_to_the_microsecond_whatever_zone_it_was_told_in(
    dsn: str, hours: float
) -> None:
    zone = timezone(timedelta(hours=hours))
    told = [datetime(2026, 3, 29, 1, 30, microsecond=micro, tzinfo=zone) for micro in (0, 1, 500_000, 999_999)]
    database = Database(dsn, OBJECT_STORE)
    column = applied_escalations.c.at

    def kept(connection: Connection) -> list[datetime]:
        rows = [{"escalation_id": str(n), "lesson_id": "a", "at": at} for n, at in enumerate(told)]
        connection.execute(insert(applied_escalations), rows)
        return list(connection.scalars(select(column).order_by(column)))

    found = await database.write(kept)
    assert found == told
    assert [(one.utcoffset(), one.microsecond) for one in found] == [(timedelta(0), one.microsecond) for one in told]
    from_the_third = select(column).where(column >= told[2]).order_by(column)
    assert await database.read(lambda connection: list(connection.scalars(from_the_third))) == told[2:]
    await database.aclose()


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """The statements that SQLAlchemy hands to the drivers."""
    seen: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield seen
    event.remove(Engine, "before_cursor_execute", note)


@pytest.mark.engine("mariadb")
async def test_tables_do_not_depend_on_a_servers_defaults_and_tell_tidb_to_count_in_order(
    request: pytest.FixtureRequest, statements: list[str]
) -> None:
    dsn = request.getfixturevalue("mariadb_server").create_database("options")
    for schema in (OBJECT_STORE, FEEDBACK_DATABASE):
        database = Database(dsn, schema)
        await database.open()
        await database.aclose()
    texts = [one.strip() for one in statements]
    created = {one.replace("IF NOT EXISTS ", "").split()[2]: one for one in texts if one.startswith("CREATE TABLE")}
    tables = {*OBJECT_STORE.metadata.tables, *FEEDBACK_DATABASE.metadata.tables}
    assert tables <= set(created)
    assert all("ENGINE=InnoDB" in one and "CHARSET=utf8mb4" in one for one in created.values())
    counted = {name for name, one in created.items() if "AUTO_INCREMENT" in one}
    assert counted == {"feedback_entries", "lesson_log"}
    assert {name for name, one in created.items() if "/*T![auto_id_cache] AUTO_ID_CACHE 1 */" in one} == counted
