"""The one place that knows how the engines differ: SQLite, PostgreSQL, MySQL/MariaDB/TiDB.

What they mean by their errors is in `faults`, how they keep a value in `types`. What differs, and how it is met:

- *Transactions.* Connections are in autocommit, so that a read costs one round trip; a write begins its transaction by
  a statement of its own. On SQLite that takes the write lock at once: a transaction that reads first and writes later
  would lose updates. On the servers it is READ COMMITTED, whatever the server's default, with row locks.
- *Upserts*: ON CONFLICT here, ON DUPLICATE KEY UPDATE there. MySQL counts matched rows (`CLIENT.FOUND_ROWS`, which
  SQLAlchemy asks for), not only changed ones.
- *Exact text*: every collation of MySQL folds something, `utf8mb4_bin` trailing spaces; see `types.ExactText`.
- *DDL* is part of the transaction on SQLite and PostgreSQL; on MySQL each statement commits by itself, so migrations
  skip what is there already.
- *TiDB* takes no lock on SKIP LOCKED (nothing here uses it), and hands numbers out to its servers by the thousand: a
  table whose numbers tell which row is the latest asks for AUTO_ID_CACHE 1, in a comment that only TiDB reads.
- *MariaDB* knows neither UPDATE ... RETURNING nor INSERT ... AS new; nothing here uses them.

What SQLAlchemy has for an engine alone is imported where that engine is used: it is slow, and mostly it is SQLite.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, Dialect, Table, Text, cast, func, select, type_coerce
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.sql.dml import Insert

from domain.errors import InvalidConfiguration, StoreUnavailable

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert

#: DSN prefixes that are taken, with the driver that serves them. `mysql+aiomysql` gets asyncmy, too: aiomysql 0.3 can
#: not take bytes as parameters with a current PyMySQL. SQLite is driven through the standard library (`SqliteEngine`).
_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+aiosqlite": "sqlite",
    "postgresql": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
    "mysql": "mysql+asyncmy",
    "mysql+asyncmy": "mysql+asyncmy",
    "mysql+aiomysql": "mysql+asyncmy",
}
_EXPECTED = (
    "expected sqlite+aiosqlite:///PATH, postgresql+asyncpg://USER:PASSWORD@HOST/NAME, "
    "mysql+asyncmy://… or mysql+aiomysql://…; a character like @, / or : in the password is written as %40, %2F or %3A"
)


def parse_dsn(dsn: str) -> URL:
    """The address of a database. Raises `InvalidConfiguration`, which never shows the password."""
    try:
        url = make_url(dsn)
    except (ArgumentError, ValueError):
        raise InvalidConfiguration(f"not a database address; {_EXPECTED}") from None
    if url.drivername not in _DRIVERS:
        raise InvalidConfiguration(f"{url.drivername}:// is not supported; {_EXPECTED}")
    if url.get_backend_name() == "sqlite" and (url.database or "").startswith("file:"):
        raise InvalidConfiguration(f"a path is wanted in place of file:…; {_EXPECTED}")
    url = url.set(drivername=_DRIVERS[url.drivername])
    if "sslmode" in url.query and url.get_backend_name() == "postgresql":  # libpq's name of the same option
        url = url.update_query_dict({"ssl": url.query["sslmode"]}).difference_update_query(["sslmode"])
    return url


#: Seconds after which a server itself ends a statement, or its wait for a lock: before our own deadline.
_STATEMENT_S = 10
_LOCK_S = 5
#: Seconds that a migration waits for another process's.
_MIGRATION_S = 50


def server_options(url: URL) -> Mapping[str, Any]:
    """The driver's arguments for a connection to a server whose transactions behave as on every other engine."""
    if url.get_backend_name() == "postgresql":
        settings = {
            "application_name": "memorygrid",
            "default_transaction_isolation": "read committed",
            "statement_timeout": f"{_STATEMENT_S}s",
            "lock_timeout": f"{_LOCK_S}s",
        }
        return {"timeout": _STATEMENT_S, "server_settings": settings}
    # Each engine reads of the comments what it knows: MariaDB the first, MySQL and TiDB the second.
    command = (
        f"SET sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = {_LOCK_S}"
        f" /*M! , tx_isolation = 'READ-COMMITTED', max_statement_time = {_STATEMENT_S} */"
        f" /*!50720 , transaction_isolation = 'READ-COMMITTED', max_execution_time = {_STATEMENT_S * 1000} */"
    )
    return {"connect_timeout": _STATEMENT_S, "charset": "utf8mb4", "init_command": command}


_BEGIN = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN", "mysql": "START TRANSACTION"}


def begin(connection: Connection) -> None:
    """Begins a transaction that is going to write."""
    run(connection, _BEGIN[connection.dialect.name])


def commit(connection: Connection) -> None:
    """Ends a transaction; what it has written is durable then."""
    run(connection, "COMMIT")


def roll_back(connection: Connection) -> None:
    """Ends a transaction with nothing changed; on SQLite a full disk has done so already."""
    if connection.dialect.name != "sqlite" or _sqlite(connection).in_transaction:
        run(connection, "ROLLBACK")


Row = Sequence[Any]


def run(connection: Connection, text: str) -> None:
    """Runs a statement that gives no rows."""
    fetch(connection, text, ())


def fetch(connection: Connection, text: str, values: Row) -> Sequence[Row]:
    """Runs a statement in the driver's own spelling; its rows as the driver gives them, none for what gives none.

    On SQLite it goes past SQLAlchemy, whose work for one statement costs as much as SQLite's own.
    """
    if connection.dialect.name != "sqlite":
        result = connection.exec_driver_sql(text, tuple(values) or None)
        return result.all() if result.returns_rows else ()
    try:
        rows: Sequence[Row] = _sqlite(connection).execute(text, values).fetchall()
    except sqlite3.Error as error:
        raise _wrapped(error, text) from error
    return rows


def run_many(connection: Connection, text: str, rows: Sequence[Row]) -> None:
    """Runs a statement once for each row of values; see `fetch`."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(text, [tuple(row) for row in rows])
        return
    try:
        _sqlite(connection).executemany(text, rows)
    except sqlite3.Error as error:
        raise _wrapped(error, text) from error


def _sqlite(connection: Connection) -> sqlite3.Connection:
    driver: Any = connection.connection.dbapi_connection
    return driver  # type: ignore[no-any-return]


def _wrapped(error: sqlite3.Error, text: str) -> Exception:
    return DBAPIError.instance(text, None, error, sqlite3.Error, hide_parameters=True)


def upserting(dialect: Dialect, table: Table, keys: Sequence[str], added: Collection[str] = ()) -> Insert:
    """The statement that inserts a row. Where one with the same keys is there, its `added` columns get `n = n + new`,
    atomically, and its other columns the new values.
    """
    others = [column.name for column in table.columns if column.name not in keys]
    if dialect.name == "mysql":
        from sqlalchemy.dialects import mysql  # noqa: PLC0415 - see the module

        statement = mysql.insert(table)
        new = statement.inserted
        values = {name: table.c[name] + new[name] if name in added else new[name] for name in others}
        return statement.on_duplicate_key_update(values)
    insert = _conflicting(dialect, table)
    new = insert.excluded
    values = {name: table.c[name] + new[name] if name in added else new[name] for name in others}
    return insert.on_conflict_do_update(index_elements=list(keys), set_=values)


def _conflicting(dialect: Dialect, table: Table) -> PostgresInsert | sqlite.Insert:
    if dialect.name != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - as above

    return postgresql.insert(table)


def holds(connection: Connection, column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Whether the text in a column contains this one. It is no pattern: a pattern may have 50,000 bytes on SQLite."""
    place = func.strpos if connection.dialect.name == "postgresql" else func.instr
    return place(column, text) > 0


def has_item(connection: Connection, column: Column[object], item: str) -> ColumnElement[bool]:
    """Whether the JSON array in a text column holds exactly this text."""
    array = type_coerce(column, Text())
    match connection.dialect.name:
        case "mysql":
            return func.json_contains(array, msgspec.json.encode(item).decode()) == 1
        case "postgresql":
            from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - as above

            return cast(array, postgresql.JSONB).contains([item])
        case _:
            items = func.json_each(array).table_valued("value")
            return select(items.c.value).where(items.c.value == item).correlate(column.table).exists()


#: Options of every table, which engines other than MySQL's kind do not see; `NUMBERED` is for one whose own numbers
#: tell which row is the latest.
OPTIONS: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_default_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
NUMBERED: dict[str, Any] = {**OPTIONS, "mysql_collate": "utf8mb4_bin /*T![auto_id_cache] AUTO_ID_CACHE 1 */"}


def lock_for_migration(connection: Connection, name: str) -> None:
    """Makes other processes that want to migrate the same database wait until this connection is done.

    Its statements may take as long as they need. Raises `StoreUnavailable` where another process takes too long.
    """
    match connection.dialect.name:
        case "postgresql":
            run(connection, "SET LOCAL statement_timeout = 0")
            run(connection, f"SET LOCAL lock_timeout = '{_MIGRATION_S}s'")
            fetch(connection, "SELECT pg_advisory_xact_lock(hashtext($1))", (f"memorygrid {name}",))
        case "mysql":
            run(connection, f"SET innodb_lock_wait_timeout = {_MIGRATION_S} /*M! , max_statement_time = 0 */")
            ((got,),) = fetch(connection, f"SELECT GET_LOCK({_LOCK_NAME}, %s)", (name, _MIGRATION_S))
            if got != 1:
                raise StoreUnavailable(f"another process is still migrating the {name} database: try again shortly")
        case _:
            pass


def unlock_after_migration(connection: Connection, name: str) -> None:
    """Ends what `lock_for_migration` began; PostgreSQL and SQLite do it with the transaction's end."""
    if connection.dialect.name == "mysql" and not connection.invalidated:
        run(connection, f"SET innodb_lock_wait_timeout = {_LOCK_S} /*M! , max_statement_time = {_STATEMENT_S} */")
        fetch(connection, f"SELECT RELEASE_LOCK({_LOCK_NAME})", (name,))


#: Locks have one name space on a server, for all of its databases, and at most 64 characters.
_LOCK_NAME = "CONCAT('memorygrid ', SHA1(CONCAT(DATABASE(), ' ', %s)))"
