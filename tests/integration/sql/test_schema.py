"""The tables come by themselves, once, and are those that the statements were written for."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, TableClause, column, delete, inspect, select, table, text, update

from adapters.sql import migrations
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE, Schema, SchemaState
from adapters.sql.tables import catalog_state
from domain.errors import InvalidConfiguration
from tests.servers.postgres import PostgresServer

SCHEMAS = [pytest.param(one, id=one.name) for one in (OBJECT_STORE, FEEDBACK_DATABASE)]
ROOT = Path(__file__).parents[3]


async def opened(dsn: str, schema: Schema) -> Database:
    database = Database(dsn, schema)
    await database.open()
    return database


def version_table(schema: Schema) -> TableClause:
    return table(schema.version_table, column("version_num"))


async def set_revision(database: Database, schema: Schema, revision: str) -> None:
    await database.write(lambda db: db.execute(update(version_table(schema)).values(version_num=revision)))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_knows_its_migrations(schema: Schema) -> None:
    folder = Path(migrations.__path__[0])
    script = ScriptDirectory(str(folder), version_locations=[str(folder / schema.name)])
    assert [one.revision for one in reversed(list(script.walk_revisions()))] == list(schema.revisions)


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_the_migrations_create_the_tables_that_the_statements_use(dsn: str, schema: Schema) -> None:
    database = await opened(dsn, schema)

    def differences(connection: Connection) -> list[object]:
        options = {"compare_type": True, "include_object": lambda _, name, kind, *__: name != schema.version_table}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), schema.metadata))

    assert await database.read(differences) == []
    assert await database.check() == SchemaState(title=schema.title, current=schema.head, needed=schema.head)
    await database.aclose()


async def test_both_databases_may_share_one_place(dsn: str) -> None:
    databases = [await opened(dsn, schema) for schema in (OBJECT_STORE, FEEDBACK_DATABASE)]
    assert [(await one.check()).is_up_to_date for one in databases] == [True, True]
    for one in databases:
        await one.aclose()


async def test_looking_at_an_empty_database_creates_nothing(dsn: str) -> None:
    database = Database(dsn, OBJECT_STORE)
    assert (await database.check()).current is None
    tables: list[str] = []

    def names(connection: Connection) -> list[str]:
        return inspect(connection).get_table_names()

    assert (await database.upgrade()).is_up_to_date
    tables = await database.read(names)
    assert set(OBJECT_STORE.metadata.tables) <= set(tables)
    await database.aclose()


async def test_an_upgrade_of_what_is_up_to_date_changes_nothing(dsn: str) -> None:
    database = await opened(dsn, OBJECT_STORE)
    await database.write(lambda db: db.execute(update(catalog_state).values(revision=7)))
    assert (await database.upgrade()).is_up_to_date
    assert await database.read(lambda db: db.execute(select(catalog_state)).all()) == [(1, 7)]
    await database.aclose()


async def test_a_servers_database_of_an_older_version_asks_for_an_upgrade(server_dsn: str) -> None:
    database = await opened(server_dsn, FEEDBACK_DATABASE)
    await set_revision(database, FEEDBACK_DATABASE, "feedback_0000")
    await database.aclose()
    older = Schema(
        name="feedback",
        title="the feedback database",
        metadata=FEEDBACK_DATABASE.metadata,
        requests=FEEDBACK_DATABASE.requests,
        revisions=("feedback_0000", *FEEDBACK_DATABASE.revisions),
    )
    again = Database(server_dsn, older)
    with pytest.raises(InvalidConfiguration, match=r"at schema revision feedback_0000.*run `memorygrid db upgrade`"):
        await again.open()
    assert not (await again.check()).is_up_to_date
    await again.aclose()


async def test_a_database_of_a_newer_version_asks_for_a_newer_program(dsn: str) -> None:
    database = await opened(dsn, FEEDBACK_DATABASE)
    await set_revision(database, FEEDBACK_DATABASE, "feedback_9999")
    await database.aclose()
    again = Database(dsn, FEEDBACK_DATABASE)
    with pytest.raises(InvalidConfiguration, match=r"feedback_9999, which this program does not know.*update the"):
        await again.open()
    with pytest.raises(InvalidConfiguration, match="update the program"):
        await again.upgrade()
    await again.aclose()


async def test_a_table_of_somebody_elses_is_told_by_its_name_and_left_as_it_is(dsn: str) -> None:
    database = Database(dsn, OBJECT_STORE)
    other = await opened(dsn, FEEDBACK_DATABASE)
    await other.write(lambda db: db.execute(text("CREATE TABLE lessons (id INTEGER, teacher VARCHAR(20))")))
    await other.write(lambda db: db.execute(text("INSERT INTO lessons VALUES (1, 'Ann')")))
    before = await other.read(lambda db: inspect(db).get_table_names())
    assert "there is a table lessons which this program did not make" in ((await database.check()).in_the_way or "")
    for attempt in (database.open, database.upgrade):
        with pytest.raises(InvalidConfiguration) as refused:
            await attempt()
        assert refused.value.detail.startswith("the object store cannot be in the database ")
        assert "a table lessons" in refused.value.detail
        assert "Name another database in its address" in refused.value.detail
    assert await other.read(lambda db: inspect(db).get_table_names()) == before
    assert await other.read(lambda db: db.execute(text("SELECT * FROM lessons")).all()) == [(1, "Ann")]
    await database.aclose()
    await other.aclose()


@pytest.mark.engine("postgres")
async def test_another_thing_with_a_name_that_the_tables_need_is_told_without_sql(
    postgres_server: PostgresServer,
) -> None:
    dsn = postgres_server.create_database("taken_name")
    postgres_server.run_script("CREATE SEQUENCE ix_lessons_status;", "taken_name")
    database = Database(dsn, OBJECT_STORE)
    with pytest.raises(InvalidConfiguration, match=r"cannot be made in the database taken_name \(.*Error\)") as refused:
        await database.upgrade()
    assert "CREATE" not in refused.value.detail
    await database.aclose()


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_a_creation_that_was_interrupted_is_finished_by_the_next_start(dsn: str, schema: Schema) -> None:
    """On MySQL's kind each step commits by itself: the version is missing, and so may be any of the later steps."""
    database = await opened(dsn, schema)

    def undo(connection: Connection) -> None:
        connection.execute(delete(version_table(schema)))
        last = list(schema.metadata.tables.values())[-1]
        last.drop(connection)

    await database.write(undo)
    await database.aclose()
    again = await opened(dsn, schema)
    assert (await again.check()).is_up_to_date
    last = list(schema.metadata.tables.values())[-1]
    assert await again.read(lambda db: db.execute(select(last)).all()) is not None
    await again.aclose()


STARTER = """
import asyncio, sys
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE

async def main():
    for schema in (OBJECT_STORE, FEEDBACK_DATABASE):
        database = Database(sys.argv[1], schema)
        await database.open()
        print((await database.check()).current)
        await database.aclose()

sys.stdin.readline()
asyncio.run(main())
"""


async def test_processes_that_start_at_once_do_not_collide(dsn: str) -> None:
    pipe = asyncio.subprocess.PIPE
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", STARTER, dsn, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe
        )
        for _ in range(2)
    ]
    answers = await asyncio.gather(*(one.communicate(b"go\n") for one in processes))
    for told, errors in answers:
        assert (told.decode().split(), errors.decode()) == ([OBJECT_STORE.head, FEEDBACK_DATABASE.head], "")
