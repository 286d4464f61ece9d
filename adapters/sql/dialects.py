"""The one place that knows how the engines differ: SQLite, PostgreSQL, MySQL/MariaDB/TiDB."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, Table, Text, cast, event, func, select, type_coerce
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from domain.errors import InvalidConfiguration

#: DSN prefixes that are taken, with the one that is meant where a user leaves the driver out.
_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
    "mysql": "mysql+asyncmy",
    "mysql+asyncmy": "mysql+asyncmy",
    "mysql+aiomysql": "mysql+asyncmy",
}

#: What a server says when two transactions were in each other's way and the whole transaction should be tried again:
#: PostgreSQL's SQLSTATEs, MySQL's and TiDB's error numbers.
_TRY_AGAIN_STATES = {"40001", "40P01"}
_TRY_AGAIN_CODES = {1020, 1205, 1213, 8002, 8022, 8028, 9007}

#: Marks a connection whose transaction is going to write.
WRITES = {"memorygrid_writes": True}
_BUSY_S = 5.0


def parse_dsn(dsn: str) -> URL:
    """The address of a database. Raises `InvalidConfiguration`, which never shows the password."""
    try:
        url = make_url(dsn)
    except ArgumentError as error:
        raise InvalidConfiguration(f"not a database address; {_EXPECTED}") from error
    if url.drivername not in _DRIVERS:
        raise InvalidConfiguration(f"{url.drivername}:// is not supported; {_EXPECTED}")
    return url.set(drivername=_DRIVERS[url.drivername])


_EXPECTED = (
    "expected sqlite+aiosqlite:///PATH, postgresql+asyncpg://USER:PASSWORD@HOST/NAME, "
    "mysql+asyncmy://… or mysql+aiomysql://…"
)


def create_engine(url: URL) -> AsyncEngine:
    """An engine whose transactions behave alike: read committed, and writers on SQLite lock from their start."""
    if url.get_backend_name() != "sqlite":
        return create_async_engine(
            url, isolation_level="READ COMMITTED", pool_pre_ping=True, pool_size=10, max_overflow=10, pool_timeout=5
        )
    engine = create_async_engine(url, connect_args={"isolation_level": None, "timeout": _BUSY_S}, pool_size=8)
    event.listen(engine.sync_engine, "connect", _set_up_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_on_sqlite)
    return engine


def _set_up_sqlite(connection: object, _record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _begin_on_sqlite(connection: Connection) -> None:
    """Takes the write lock at once: a transaction that reads first and writes later would lose updates."""
    if connection.get_execution_options().get("memorygrid_writes"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def should_try_again(error: DBAPIError) -> bool:
    """Whether the database gave the transaction up for another one's sake, so that the whole of it may be repeated."""
    cause = error.orig
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    code = cause.args[0] if cause is not None and cause.args else None
    return state in _TRY_AGAIN_STATES or code in _TRY_AGAIN_CODES or "database is locked" in str(cause)


def is_out_of_reach(error: Exception) -> bool:
    """Whether the database itself is away or cannot work (down, full, locked), rather than the statement being bad."""
    if isinstance(error, DBAPIError):
        return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)
    return isinstance(error, OSError | PoolTimeout | TimeoutError)


_Rows = Sequence[Mapping[str, object]]


def upsert(
    connection: Connection, table: Table, keys: Sequence[str], rows: _Rows, *, added: Collection[str] = ()
) -> None:
    """Inserts rows. Where one with the same keys is there, its `added` columns get `n = n + new`, atomically, and its
    other columns the new values.
    """
    others = [column.name for column in table.columns if column.name not in keys]
    if connection.dialect.name == "mysql":
        statement = mysql.insert(table)
        new = statement.inserted
        values = {name: table.c[name] + new[name] if name in added else new[name] for name in others}
        connection.execute(statement.on_duplicate_key_update(values), rows)
        return
    insert = postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
    excluded = insert.excluded
    values = {name: table.c[name] + excluded[name] if name in added else excluded[name] for name in others}
    connection.execute(insert.on_conflict_do_update(index_elements=list(keys), set_=values), rows)


def has_item(connection: Connection, column: Column[object], item: str) -> ColumnElement[bool]:
    """Whether the JSON array in a text column holds exactly this text."""
    array = type_coerce(column, Text())
    match connection.dialect.name:
        case "mysql":
            return func.json_contains(array, msgspec.json.encode(item).decode()) == 1
        case "postgresql":
            return cast(array, postgresql.JSONB).contains([item])
        case _:
            items = func.json_each(array).table_valued("value")
            return select(items.c.value).where(items.c.value == item).correlate(column.table).exists()


def lock_for_migration(connection: Connection, name: str) -> None:
    """Makes other processes that want to migrate the same database wait until this connection is done."""
    match connection.dialect.name:
        case "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock(hashtext('memorygrid {name}'))")
        case "mysql":
            connection.exec_driver_sql(f"SELECT GET_LOCK('memorygrid {name}', 60)")
        case _:
            pass


def unlock_after_migration(connection: Connection, name: str) -> None:
    """Ends what `lock_for_migration` began; PostgreSQL and SQLite do it with the transaction's end."""
    if connection.dialect.name == "mysql":
        connection.exec_driver_sql(f"SELECT RELEASE_LOCK('memorygrid {name}')")
