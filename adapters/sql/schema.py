"""Bringing a database's schema up to date with the migrations of its kind.

An empty database is filled by itself, and a SQLite file is migrated by itself; a server's older database is left to
`memorygrid db upgrade`. Several processes may start at once: one migrates, and the others wait for it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, text
from sqlalchemy.exc import DBAPIError

from adapters.sql.dialects import OPTIONS, lock_for_migration, unlock_after_migration
from adapters.sql.faults import reason, should_try_again
from adapters.sql.tables import FEEDBACK, LESSONS, feedback_requests, lesson_requests
from domain.errors import InvalidConfiguration

_MIGRATIONS = Path(__file__).parent / "migrations"


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of database: its name, what people call it, its tables, and its revisions, oldest first.

    `requests` is the one of its tables that keeps idempotency records.
    """

    name: str
    title: str
    metadata: MetaData
    requests: Table
    revisions: tuple[str, ...]

    @property
    def head(self) -> str:
        return self.revisions[-1]

    @property
    def version_table(self) -> str:
        return f"alembic_version_{self.name}"

    def knows(self, revision: str | None) -> bool:
        """Whether this program can bring a database up to date that is at this revision (None: it has no tables)."""
        return revision is None or revision in self.revisions


class SchemaState(msgspec.Struct, frozen=True, kw_only=True):
    """At which revision a database is (None: it has none of our tables), and which one this program needs.

    A revision that `is_known` is no later one than this program's. `in_the_way` says which table of somebody else's has
    the name of one of ours, and what to do.
    """

    title: str
    current: str | None
    needed: str
    is_known: bool = True
    in_the_way: str | None = None

    @property
    def is_up_to_date(self) -> bool:
        return self.current == self.needed


OBJECT_STORE = Schema(
    name="lessons",
    title="the object store",
    metadata=LESSONS,
    requests=lesson_requests,
    revisions=("lessons_0001",),
)
FEEDBACK_DATABASE = Schema(
    name="feedback",
    title="the feedback database",
    metadata=FEEDBACK,
    requests=feedback_requests,
    revisions=("feedback_0001",),
)


def current_revision(connection: Connection, schema: Schema) -> str | None:
    """The schema revision that the database is at; None where it has none of our tables."""
    if not inspect(connection).has_table(schema.version_table):
        return None
    revision: str | None = connection.execute(text(f"SELECT version_num FROM {schema.version_table}")).scalar()  # noqa: S608
    return revision


def check(connection: Connection, schema: Schema) -> SchemaState:
    """At which revision the database is, and which one is needed."""
    current = current_revision(connection, schema)
    return SchemaState(
        title=schema.title,
        current=current,
        needed=schema.head,
        is_known=schema.knows(current),
        in_the_way=_in_the_way(connection, schema) if current is None else None,
    )


def bring_up_to_date(connection: Connection, schema: Schema) -> None:
    """Creates what is missing in a new database, or in a SQLite file of an older version, in the caller's transaction.

    Raises `InvalidConfiguration` for a server's database that is older, for one that is newer than this program, and
    for one that has a table of somebody else's in the way.
    """
    lock_for_migration(connection, schema.name)
    try:
        current = current_revision(connection, schema)
        if current is not None and current != schema.head and connection.dialect.name != "sqlite":
            _check_known(current, schema)
            raise InvalidConfiguration(
                f"{schema.title} is at schema revision {current}, and this program needs {schema.head}: "
                "run `memorygrid db upgrade`"
            )
        _migrate(connection, schema, current)
    finally:
        unlock_after_migration(connection, schema.name)


def upgrade(connection: Connection, schema: Schema) -> SchemaState:
    """Runs the migrations that are missing, one process at a time, in the caller's transaction.

    Raises `InvalidConfiguration` for a database that is newer than this program, or has a table in the way.
    """
    lock_for_migration(connection, schema.name)
    try:
        _migrate(connection, schema, current_revision(connection, schema))
        return check(connection, schema)
    finally:
        unlock_after_migration(connection, schema.name)


def _check_known(current: str | None, schema: Schema) -> None:
    if not schema.knows(current):
        raise InvalidConfiguration(
            f"{schema.title} is at schema revision {current}, which this program does not know (it knows up to "
            f"{schema.head}): update the program"
        )


def _in_the_way(connection: Connection, schema: Schema) -> str | None:
    """Which table has the name of one of ours, though this program has made none here, and what to do.

    The table of versions is made before all others, and looked for after them: another process may be making them now.
    """
    looking = inspect(connection)
    found = next((name for name in schema.metadata.tables if looking.has_table(name)), None)
    if found is None or inspect(connection).has_table(schema.version_table):
        return None
    return (
        f"{schema.title} cannot be in the database {connection.engine.url.database}: there is a table {found} which "
        f"this program did not make (there is no {schema.version_table}). Name another database in its address, or "
        "rename that table; nothing was changed"
    )


def _migrate(connection: Connection, schema: Schema, current: str | None) -> None:
    if current == schema.head:
        return
    _check_known(current, schema)
    if current is None and (in_the_way := _in_the_way(connection, schema)) is not None:
        raise InvalidConfiguration(in_the_way)
    version = Column("version_num", String(32), primary_key=True)
    Table(schema.version_table, MetaData(), version, **OPTIONS).create(connection, checkfirst=True)
    from alembic import command  # noqa: PLC0415 - 200 ms that a start on an existing database does not need
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.set_main_option("version_locations", str(_MIGRATIONS / schema.name))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["schema"] = schema
    try:
        command.upgrade(config, "head")
    except DBAPIError as error:
        if reason(error) is not None or should_try_again(error):
            raise
        raise InvalidConfiguration(
            f"the tables of {schema.title} cannot be made in the database {connection.engine.url.database} "
            f"({type(error.orig).__name__}): something else there may have one of their names. Name another database "
            "in its address"
        ) from error
