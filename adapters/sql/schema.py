"""Bringing a database's schema up to date with the migrations of its kind."""

from __future__ import annotations

from pathlib import Path

import msgspec
from sqlalchemy import Connection, MetaData, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from adapters.sql.dialects import WRITES, lock_for_migration, unlock_after_migration
from adapters.sql.tables import FEEDBACK, LESSONS
from domain.errors import InvalidConfiguration

_MIGRATIONS = Path(__file__).parent / "migrations"


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of database: its name, what people call it, its tables and the newest revision of its migrations."""

    name: str
    title: str
    metadata: MetaData
    head: str

    @property
    def version_table(self) -> str:
        return f"alembic_version_{self.name}"


OBJECT_STORE = Schema(name="lessons", title="the object store", metadata=LESSONS, head="lessons_0001")
FEEDBACK_DATABASE = Schema(name="feedback", title="the feedback database", metadata=FEEDBACK, head="feedback_0001")


async def bring_up_to_date(engine: AsyncEngine, schema: Schema) -> None:
    """Creates what is missing. A server's database of an older version is left to `memorygrid db upgrade`.

    Several processes may do this at once. Raises `InvalidConfiguration` for a database that is older, or newer than
    this program.
    """
    async with engine.connect() as connection:
        current = await connection.run_sync(lambda conn: current_revision(conn, schema))
    if current == schema.head:
        return
    if current is not None and engine.dialect.name != "sqlite":
        raise InvalidConfiguration(
            f"{schema.title} is at schema revision {current}, this program needs {schema.head}: "
            "run `memorygrid db upgrade` (or update the program, where the database is the newer one)"
        )
    await upgrade(engine, schema)


async def upgrade(engine: AsyncEngine, schema: Schema) -> None:
    """Runs the migrations that are missing, one process at a time."""
    async with engine.connect() as connection:
        await connection.execution_options(**WRITES)
        async with connection.begin():
            await connection.run_sync(lambda conn: _migrate(conn, schema))


def current_revision(connection: Connection, schema: Schema) -> str | None:
    """The schema revision that the database is at; None where it has none of our tables."""
    if not inspect(connection).has_table(schema.version_table):
        return None
    return connection.execute(text(f"SELECT version_num FROM {schema.version_table}")).scalar()  # noqa: S608


def _migrate(connection: Connection, schema: Schema) -> None:
    from alembic import command  # noqa: PLC0415 - 200 ms that a start on an existing database does not need
    from alembic.config import Config  # noqa: PLC0415

    lock_for_migration(connection, schema.name)
    try:
        if current_revision(connection, schema) == schema.head:
            return
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS))
        config.set_main_option("version_locations", str(_MIGRATIONS / schema.name))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        config.attributes["schema"] = schema
        command.upgrade(config, "head")
    finally:
        unlock_after_migration(connection, schema.name)
