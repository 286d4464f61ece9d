"""The tests' own servers are real, keep their data, and leave nothing behind."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from tests.servers import as_account
from tests.servers.fixtures import require
from tests.servers.mariadb import MariaDbServer
from tests.servers.milvus import MilvusServer
from tests.servers.ports import accepts_connections
from tests.servers.postgres import PostgresServer
from tests.servers.process import ServerFailed, ServerProcess

UNICODE = "naïve 日本語 🧠 trailing space "
AXES = {"north": [0.0, 1.0, 0.0], "east": [1.0, 0.0, 0.0], "up": [0.0, 0.0, 1.0]}


@asynccontextmanager
async def transaction(dsn: str) -> AsyncIterator[AsyncConnection]:
    engine = create_async_engine(dsn)
    async with engine.begin() as connection:
        yield connection
    await engine.dispose()


async def write_row(server: PostgresServer | MariaDbServer) -> None:
    async with transaction(server.create_database("kept")) as connection:
        await connection.execute(text("CREATE TABLE note (body VARCHAR(100))"))
        await connection.execute(text("INSERT INTO note VALUES (:body)"), {"body": UNICODE})


async def row_is_there(server: PostgresServer | MariaDbServer) -> bool:
    async with transaction(server.dsn("kept")) as connection:
        return (await connection.scalars(text("SELECT body FROM note"))).all() == [UNICODE]


@asynccontextmanager
async def milvus_client(server: MilvusServer) -> AsyncIterator[Any]:
    from pymilvus import AsyncMilvusClient

    client = AsyncMilvusClient(uri=server.uri)
    yield client
    await client.close()


async def write_vectors(server: MilvusServer) -> None:
    from pymilvus import DataType

    async with milvus_client(server) as client:
        schema = client.create_schema(auto_id=False)
        schema.add_field("id", DataType.VARCHAR, max_length=64, is_primary=True)
        schema.add_field("bin", DataType.VARCHAR, max_length=64)
        schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=3)
        index = client.prepare_index_params()
        index.add_index("embedding", index_type="HNSW", metric_type="COSINE")
        await client.create_collection("kept", schema=schema, index_params=index, consistency_level="Strong")
        rows = [{"id": name, "bin": name[0], "embedding": axis} for name, axis in AXES.items()]
        await client.upsert("kept", rows)


async def nearest_vectors(server: MilvusServer, condition: str = "") -> list[str]:
    async with milvus_client(server) as client:
        await client.load_collection("kept")
        [hits] = await client.search("kept", [[0.9, 0.8, 0.1]], limit=3, filter=condition)
        return [hit["id"] for hit in hits]


async def vectors_are_there(server: MilvusServer) -> bool:
    return await nearest_vectors(server) == ["east", "north", "up"]


@dataclass(frozen=True)
class Trial:
    """A kind of server, and how to put something into one and see whether it is there."""

    server: type[ServerProcess]
    write: Callable[[Any], Awaitable[None]]
    is_there: Callable[[Any], Awaitable[bool]]


TRIALS = [
    pytest.param(trial, marks=pytest.mark.engine(trial.server.name), id=trial.server.name)
    for trial in (
        Trial(PostgresServer, write_row, row_is_there),
        Trial(MariaDbServer, write_row, row_is_there),
        Trial(MilvusServer, write_vectors, vectors_are_there),
    )
]


def processes_in(directory: Path) -> list[int]:
    """The processes that work in or under the directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            working_directory = (process / "cwd").readlink()
        except OSError:
            continue
        if working_directory.is_relative_to(directory):
            found.append(int(process.name))
    return found


@pytest.mark.engine("postgres")
async def test_postgres_answers_a_filtered_cosine_query_from_an_hnsw_index(postgres_server: PostgresServer) -> None:
    async with transaction(postgres_server.create_database("vectors")) as connection:
        await connection.execute(text("CREATE EXTENSION vector"))
        await connection.execute(text("CREATE TABLE lesson (id TEXT, bin TEXT, embedding vector(3))"))
        await connection.execute(text("CREATE INDEX ON lesson USING hnsw (embedding vector_cosine_ops)"))
        for name, axis in AXES.items():
            row = {"id": name, "bin": name[0], "embedding": str(axis)}
            await connection.execute(text("INSERT INTO lesson VALUES (:id, :bin, :embedding)"), row)
        await connection.execute(text("SET LOCAL enable_seqscan = off"))
        await connection.execute(text("SET LOCAL hnsw.iterative_scan = strict_order"))
        query = "SELECT id FROM lesson WHERE bin <> 'n' ORDER BY embedding <=> '[0.9, 0.8, 0.1]' LIMIT 2"
        plan = (await connection.scalars(text(f"EXPLAIN {query}"))).all()
        nearest = (await connection.scalars(text(query))).all()
    assert nearest == ["east", "up"]
    assert any("Index Scan using lesson_embedding_idx" in line for line in plan)


@pytest.mark.engine("mariadb")
async def test_mariadb_returns_bytes_and_text_as_they_were_written(mariadb_server: MariaDbServer) -> None:
    key = UNICODE.encode()
    async with transaction(mariadb_server.create_database("exact")) as connection:
        await connection.execute(text("CREATE TABLE entry (id VARBINARY(255) PRIMARY KEY, body TEXT)"))
        await connection.execute(text("INSERT INTO entry VALUES (:id, :body)"), {"id": key, "body": UNICODE})
        await connection.execute(text("INSERT INTO entry VALUES (:id, '')"), {"id": key.strip()})
        query = text("SELECT id, body FROM entry WHERE id = :id")
        [row] = (await connection.execute(query, {"id": key})).all()
    assert row == (key, UNICODE)


@pytest.mark.engine("milvus")
async def test_milvus_finds_the_nearest_vectors_that_pass_the_filter(milvus_server: MilvusServer) -> None:
    await write_vectors(milvus_server)
    assert await nearest_vectors(milvus_server, 'bin != "n"') == ["east", "up"]
    async with milvus_client(milvus_server) as client:
        await client.upsert("kept", [{"id": "up", "bin": "u", "embedding": [0.9, 0.8, 0.1]}])
        await client.delete("kept", ids=["east"])
    assert await nearest_vectors(milvus_server) == ["up", "north"]


@pytest.mark.parametrize("trial", TRIALS)
async def test_data_outlive_restarts_and_kills_and_go_with_the_server(trial: Trial) -> None:
    require(trial.server)
    with trial.server() as server:
        await trial.write(server)
        port, first_pid = server.port, server.pid
        server.restart()
        assert server.port == port
        assert server.pid != first_pid
        assert await trial.is_there(server)

        server.kill()
        assert processes_in(server.data) == []
        assert server.pid is None
        server.start()
        assert await trial.is_there(server)

        server.kill()
    assert processes_in(server.directory) == []
    assert not server.directory.exists()


@pytest.mark.parametrize("trial", TRIALS)
def test_a_server_listens_on_127_0_0_1_alone(trial: Trial, request: pytest.FixtureRequest) -> None:
    server: ServerProcess = request.getfixturevalue(f"{trial.server.name}_server")
    assert accepts_connections(server.port)
    assert not accepts_connections(server.port, "127.0.0.2")


@pytest.mark.engine("postgres")
def test_a_server_that_does_not_start_shows_why() -> None:
    require(PostgresServer)
    server = PostgresServer(settings={"nonsense": "1"})
    with pytest.raises(ServerFailed, match='unrecognized configuration parameter "nonsense"'), server:
        pass
    assert not server.directory.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
def test_a_servers_program_that_is_missing_is_told_in_one_line() -> None:
    command = [sys.executable, as_account.__file__, "65534", "65534", "/nowhere/initdb"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr == "/nowhere/initdb: No such file or directory\n"


@pytest.mark.engine("mariadb")
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "__register_atfork"), reason="the C library tells nobody of a fork")
def test_a_servers_programs_run_without_a_fork_of_this_process() -> None:
    require(MariaDbServer)
    session = (
        "import ctypes, os, subprocess\n"
        "from tests.servers.mariadb import MariaDbServer\n"
        "forks, handler = [], ctypes.CFUNCTYPE(None)\n"
        "told = handler(lambda: forks.append('fork'))\n"
        "ctypes.CDLL(None).__register_atfork(told, handler(), handler(), None)\n"
        "with MariaDbServer() as server:\n"
        "    server.create_database('unforked')\n"
        "subprocess.run(['true'])\n"
        "print(len(forks))\n"
        "subprocess.run(['true'], preexec_fn=os.getpid)\n"
        "print(len(forks))\n"
    )
    run = subprocess.run([sys.executable, "-c", session], capture_output=True, text=True, check=True, cwd=_root())
    assert run.stdout.split() == ["0", "1"]


@pytest.mark.parametrize("trial", TRIALS)
def test_a_server_ends_with_a_session_that_is_killed(trial: Trial) -> None:
    require(trial.server)
    session = (
        f"from {trial.server.__module__} import {trial.server.__name__} as Server\n"
        "import signal\n"
        "server = Server()\n"
        "server.start()\n"
        "print(server.directory, flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", session], stdout=subprocess.PIPE, text=True, cwd=_root()) as process:
        assert process.stdout is not None
        directory = Path(process.stdout.readline().strip())
        assert processes_in(directory) != []
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while directory.exists() or processes_in(directory):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def absent_server(monkeypatch: pytest.MonkeyPatch) -> type[ServerProcess]:
    monkeypatch.setattr(MilvusServer, "unavailable", lambda: "milvus_lite not installed")
    return MilvusServer


def test_a_missing_server_is_a_skip_with_its_reason_on_a_developers_machine(
    absent_server: type[ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no milvus server: milvus_lite not installed"):
        require(absent_server)


def test_a_missing_server_is_a_failure_in_ci(
    absent_server: type[ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no milvus server: milvus_lite not installed"):
        require(absent_server)


def _root() -> Path:
    return Path(__file__).parents[2]
