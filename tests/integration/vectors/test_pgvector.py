"""What is particular to PostgreSQL: which index serves which search, long vectors, old extensions, rights."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

import anyio
import asyncpg
import pytest

from adapters.vectors import pgvector_changes
from adapters.vectors.made_for import MadeFor
from adapters.vectors.pgvector_index import PgvectorIndex
from adapters.vectors.pgvector_tables import SESSION, PgvectorTables
from domain.errors import VectorsUnavailable
from domain.learner.lesson import Bin
from tests.integration.vectors.stores import DIMENSION, EMBEDDER, found, stored, towards
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.engine("postgres")


@pytest.fixture
def dsn(postgres_server: PostgresServer) -> str:
    return postgres_server.create_database(f"vectors_{secrets.token_hex(6)}")


@pytest.fixture
async def index(dsn: str) -> AsyncIterator[PgvectorIndex]:
    opened = PgvectorIndex(dsn)
    yield opened
    await opened.aclose()


@pytest.mark.parametrize(("bin", "partitions"), [(Bin.SKILLS, 1), (Bin.KNOWLEDGE, 1), (None, 2)])
async def test_searches_can_be_served_by_an_hnsw_index_of_the_bin(
    dsn: str, index: PgvectorIndex, bin: Bin | None, partitions: int
) -> None:
    """For so few vectors the server reads them all sooner, unless it must not."""
    await index.prepare(EMBEDDER, DIMENSION)
    lessons = [stored(f"l{number:03}", towards(number / 300), bin=list(Bin)[number % 2]) for number in range(300)]
    await index.apply(lessons, [], 1)
    await index.apply([], [], 2)
    statement = PgvectorTables(MadeFor(EMBEDDER, DIMENSION)).nearest(bin)
    settings = {**SESSION, "enable_seqscan": "off"}
    connection = await asyncpg.connect(dsn.replace("+asyncpg", ""), server_settings=settings)
    plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {statement}", [1.0, 0.0, 0.0, 0.0], 20))
    rows = await connection.fetch(statement, [1.0, 0.0, 0.0, 0.0], 3)
    await connection.close()
    assert plan.count("_embedding_idx on memorygrid_vectors_") == partitions, plan
    expected = [one.lesson_id for one in reversed(lessons) if bin in (None, one.bin)]
    assert [row["lesson_id"] for row in rows] == expected[:3]


async def test_the_index_is_built_also_where_its_workers_have_no_memory_to_share(
    dsn: str, index: PgvectorIndex
) -> None:
    await index.prepare(EMBEDDER, DIMENSION)
    connection = await asyncpg.connect(dsn.replace("+asyncpg", ""))
    await connection.execute(_REFUSES_WORKERS)
    lessons = [stored(f"l{number:03}", towards(number / 300)) for number in range(300)]
    await index.apply(lessons, [], 1)
    await index.apply([], [], 2)
    assert await connection.fetchval(PgvectorTables(MadeFor(EMBEDDER, DIMENSION)).index_is_there)
    await connection.close()
    assert list(await found(index, towards(1.0), limit=1)) == ["l299"]


async def test_the_graph_of_many_vectors_gets_the_memory_that_it_takes(dsn: str, index: PgvectorIndex) -> None:
    await index.prepare(EMBEDDER, 1_000)
    await index.apply([stored(f"l{number:05}", towards(number / 9_000, 1_000)) for number in range(9_000)], [], 1)
    connection = await asyncpg.connect(dsn.replace("+asyncpg", ""))
    await connection.execute(_NOTES_MEMORY)
    await index.apply([], [], 2)
    assert await connection.fetchval("SELECT kilobytes FROM noted") > 9_000 * 4_000 // 1024 + (64 << 10)
    await connection.close()


_REFUSES_WORKERS = """
CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
    IF current_setting('max_parallel_maintenance_workers') <> '0' THEN
        RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = 'could not resize shared memory segment';
    END IF;
END $$;
CREATE EVENT TRIGGER refuses ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION refuse();
"""
"""What a container's 64 MB of shared memory lead to."""

_NOTES_MEMORY = """
CREATE TABLE noted (kilobytes bigint);
CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO noted SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem';
END $$;
CREATE EVENT TRIGGER notes ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION note();
"""


async def test_processes_that_create_the_tables_at_once_share_them(dsn: str) -> None:
    indices = [PgvectorIndex(dsn) for _ in range(6)]
    async with anyio.create_task_group() as tasks:
        for one in indices:
            tasks.start_soon(one.prepare, EMBEDDER, DIMENSION)
    async with anyio.create_task_group() as tasks:
        for number, one in enumerate(indices):
            tasks.start_soon(one.apply, [stored(f"l{number}", towards(0.5))], [], number)
    assert len(await found(indices[0])) == len(indices)
    for one in indices:
        await one.aclose()


@pytest.mark.parametrize("dimension", [2_000, 2_001, 4_000, 4_001])
async def test_long_vectors_are_found_too(index: PgvectorIndex, dimension: int) -> None:
    await index.prepare(EMBEDDER, dimension)
    await index.apply([stored(f"l{number}", towards(number / 10, dimension)) for number in range(10)], [], 1)
    nearest = await found(index, towards(1.0, dimension), limit=2)
    assert nearest == {"l9": 0.9, "l8": 0.8}
    assert await index.similarities(towards(1.0, dimension), ["l3"]) == pytest.approx({"l3": 0.3}, abs=1e-5)


async def test_an_extension_that_is_too_old_is_told(index: PgvectorIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgvector_changes, "_OLDEST_EXTENSION", (9, 9))
    with pytest.raises(VectorsUnavailable, match=r"is too old.*ALTER EXTENSION vector UPDATE"):
        await index.prepare(EMBEDDER, DIMENSION)


async def test_a_user_without_rights_is_told_what_is_missing(dsn: str, index: PgvectorIndex) -> None:
    owner = await asyncpg.connect(dsn.replace("+asyncpg", ""))
    name = f"reader_{secrets.token_hex(4)}"
    await owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'kept'")
    address = dsn.split("@")[1]
    stranger = PgvectorIndex(f"postgresql+asyncpg://{name}:kept@{address}")
    with pytest.raises(VectorsUnavailable, match=r"permission denied.*grant CREATE on the schema"):
        await stranger.prepare(EMBEDDER, DIMENSION)
    await stranger.aclose()
    await index.prepare(EMBEDDER, DIMENSION)
    await owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
    reader = PgvectorIndex(f"postgresql+asyncpg://{name}:kept@{address}")
    assert await reader.prepare(EMBEDDER, DIMENSION) == 0
    await reader.aclose()
    await owner.close()


async def test_the_dialects_ssl_parameter_is_understood(dsn: str) -> None:
    index = PgvectorIndex(f"{dsn}?ssl=disable")
    assert await index.prepare(EMBEDDER, DIMENSION) == 0
    await index.aclose()


async def test_tables_that_were_dropped_are_no_empty_answer(dsn: str, index: PgvectorIndex) -> None:
    await index.prepare(EMBEDDER, DIMENSION)
    await index.apply([stored("a", towards(0.9))], [], 1)
    connection = await asyncpg.connect(dsn.replace("+asyncpg", ""))
    await connection.execute("DROP SCHEMA public CASCADE")
    await connection.close()
    with pytest.raises(VectorsUnavailable):
        await index.nearest(towards(1.0), 5)
