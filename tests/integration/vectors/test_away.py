"""A vector store that is away, hangs or refuses costs a request milliseconds, says why, and is back by itself."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from adapters.vectors import milvus_index, pgvector_index
from adapters.vectors.milvus_index import MilvusIndex
from adapters.vectors.pgvector_index import PgvectorIndex
from application.learner.ports import VectorIndex
from domain.errors import InvalidConfiguration, VectorsUnavailable
from tests.integration.vectors.stores import DIMENSION, EMBEDDER, KINDS, QUERY, Kind, found, stored, towards
from tests.servers.fixtures import require
from tests.servers.process import ServerProcess

PASSWORD = "kept-to-ourselves"


@pytest.fixture
def own_server(kind: Kind) -> Iterator[ServerProcess]:
    """A server for this test alone."""
    require(kind.server)
    with kind.server() as server:
        yield server


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pgvector_index, milvus_index):
        monkeypatch.setattr(module, "_SEARCH_S", 0.5)


async def refusal(index: VectorIndex) -> tuple[VectorsUnavailable, float]:
    """How a search fails, and after how many seconds."""
    started = time.monotonic()
    with pytest.raises(VectorsUnavailable) as refused:
        await index.nearest(QUERY, 5)
    return refused.value, time.monotonic() - started


async def is_back_within(index: VectorIndex, seconds: float) -> dict[str, float]:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return await found(index)
        except VectorsUnavailable:
            if time.monotonic() > deadline:
                raise
        await anyio.sleep(0.05)


async def test_it_is_away_and_comes_back_in_the_middle_of_use(kind: Kind, own_server: ServerProcess) -> None:
    index = kind.open(kind.address(own_server, "vectors"))
    await index.prepare(EMBEDDER, DIMENSION)
    await index.apply([stored("a", towards(0.9)), stored("b", towards(0.5))], [], 3)
    for end in (own_server.stop, own_server.kill):
        end()
        for _ in range(4):
            error, _ = await refusal(index)
        error, seconds = await refusal(index)
        assert "3 times in a row" in error.detail
        assert seconds < 0.05
        with pytest.raises(VectorsUnavailable):
            await index.apply([], ["a"], 4)
        own_server.start()
        assert await is_back_within(index, 5) == {"a": 0.9, "b": 0.5}
    assert await index.similarities(QUERY, ["b"]) == pytest.approx({"b": 0.5}, abs=1e-5)
    assert await index.prepare(EMBEDDER, DIMENSION) == 3
    await index.apply([], ["a"], 4)
    assert await found(index) == {"b": 0.5}
    await index.aclose()


@pytest.mark.usefixtures("_impatient")
async def test_a_server_that_hangs_is_given_up_on_time(kind: Kind, own_server: ServerProcess) -> None:
    index = kind.open(kind.address(own_server, "vectors"))
    await index.prepare(EMBEDDER, DIMENSION)
    await index.apply([stored("a", towards(0.9))], [], 3)
    await found(index)
    hung = processes_of(own_server)
    signal_all(hung, signal.SIGSTOP)
    try:
        for _ in range(3):
            error, seconds = await refusal(index)
            assert "0.5 s" in error.detail
            assert seconds < 1
        _, seconds = await refusal(index)
        assert seconds < 0.05
    finally:
        signal_all(hung, signal.SIGCONT)
    assert await is_back_within(index, 5) == {"a": 0.9}
    await index.aclose()


@pytest.mark.parametrize("name", KINDS)
async def test_an_address_that_never_answers_does_not_hold_requests_up(name: str, silent_port: int) -> None:
    require(KINDS[name].server)
    dsns = {
        "pgvector": f"postgresql+asyncpg://me:{PASSWORD}@127.0.0.1:{silent_port}/x",
        "milvus": f"http://me:{PASSWORD}@127.0.0.1:{silent_port}",
    }
    index = KINDS[name].open(dsns[name])
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(VectorsUnavailable) as away:
            await index.prepare(EMBEDDER, DIMENSION)
        assert PASSWORD not in away.value.detail
    assert time.monotonic() - started < 9
    started = time.monotonic()
    with pytest.raises(VectorsUnavailable, match="3 times in a row"):
        await index.prepare(EMBEDDER, DIMENSION)
    assert time.monotonic() - started < 0.05
    await index.aclose()


@pytest.mark.parametrize("name", KINDS)
async def test_nothing_is_searched_before_the_store_was_reached(name: str) -> None:
    require(KINDS[name].server)
    dsns = {"pgvector": "postgresql+asyncpg://me@127.0.0.1:1/x", "milvus": "http://127.0.0.1:1"}
    index = KINDS[name].open(dsns[name])
    with pytest.raises(VectorsUnavailable, match="out of reach"):
        await index.prepare(EMBEDDER, DIMENSION)
    with pytest.raises(VectorsUnavailable, match="not been reached yet"):
        await index.nearest(QUERY, 5)
    with pytest.raises(VectorsUnavailable, match="not been reached yet"):
        await index.apply([], ["a"], 1)
    await index.aclose()


@pytest.mark.engine("postgres")
@pytest.mark.parametrize(
    ("wrong", "hint"), [(("memorygrid:", f"memorygrid:{PASSWORD}"), "password"), (("/vectors", "/nowhere"), "database")]
)
async def test_a_wrong_address_is_told_without_the_password(
    own_postgres: tuple[str, ServerProcess], wrong: tuple[str, str], hint: str
) -> None:
    dsn, _ = own_postgres
    index = PgvectorIndex(dsn.replace(*wrong))
    with pytest.raises(VectorsUnavailable) as refused:
        await index.prepare(EMBEDDER, DIMENSION)
    assert hint in refused.value.detail
    assert "MG_VECTOR_DSN" in refused.value.detail
    secret = dsn.split(":")[2].split("@")[0]
    assert secret not in refused.value.detail
    assert PASSWORD not in refused.value.detail


@pytest.fixture
def own_postgres(request: pytest.FixtureRequest) -> tuple[str, ServerProcess]:
    server = request.getfixturevalue("postgres_server")
    name = f"vectors_{time.monotonic_ns()}"
    return server.create_database(name).replace(name, "vectors"), server


@pytest.mark.parametrize(
    "dsn",
    [
        f"mysql://me:{PASSWORD}@host/x",
        f"postgresql+asyncpg://me:{PASSWORD}@host",
        f"me:{PASSWORD}",
        f"http://me:{PASSWORD}@host:port",
        f"grpc://me:{PASSWORD}@host",
        "",
    ],
)
@pytest.mark.parametrize("kind_of", [PgvectorIndex, MilvusIndex])
def test_what_is_no_address_is_refused_without_the_password(kind_of: type[PgvectorIndex], dsn: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        kind_of(dsn)
    assert "expected" in refused.value.detail
    assert PASSWORD not in refused.value.detail


def test_each_event_loop_has_its_own_connections(kind: Kind, server: ServerProcess) -> None:
    index = kind.open(kind.address(server, "loops"))

    async def use(revision: int) -> dict[str, float]:
        if revision == 1:
            await index.reset(EMBEDDER, DIMENSION)
        await index.prepare(EMBEDDER, DIMENSION)
        await index.apply([stored(f"l{revision}", towards(0.5))], [], revision)
        return await found(index)

    assert asyncio.run(use(1)) == {"l1": 0.5}
    assert asyncio.run(use(2)) == {"l1": 0.5, "l2": 0.5}


def processes_of(server: ServerProcess) -> list[int]:
    """The server's process and its children."""
    assert server.pid is not None
    found_ids = [server.pid]
    for task in Path(f"/proc/{server.pid}/task").iterdir():
        found_ids += map(int, (task / "children").read_text().split())
    return found_ids


def signal_all(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        os.kill(process, number)


async def test_a_store_is_reached_before_anything_is_made_there_and_not_where_it_has_gone(
    own_server: ServerProcess, kind: Kind
) -> None:
    index = kind.open(kind.address(own_server, "reached"))
    await index.reach()
    own_server.stop()
    with pytest.raises(VectorsUnavailable):
        await index.reach()
    await index.aclose()
