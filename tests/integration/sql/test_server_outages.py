"""A server that stops, is killed or hangs: refusals in time meanwhile, and right answers by itself afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE
from application.feedback.ports import EntryFilter
from domain.errors import StoreUnavailable
from domain.feedback.entry import FeedbackEntry
from domain.feedback.metrics import counted, total
from tests.fakes.clock import CountingIds
from tests.fakes.examples import entry, select
from tests.fakes.together import together
from tests.integration.sql.conftest import SqlServer
from tests.servers.fixtures import require
from tests.servers.mariadb import MariaDbServer
from tests.servers.postgres import PostgresServer

DEADLINE_S = 1.5
pytestmark = pytest.mark.faults


class Clients:
    """Callers that record selections one after the other, and what was acknowledged to them."""

    def __init__(self, store: SqlFeedbackStore) -> None:
        self._store = store
        self._new_id = CountingIds(1)
        self.acknowledged: list[str] = []
        self.refused = 0
        self.longest_s = 0.0

    async def record(self) -> bool:
        """Whether one selection was stored."""
        one = entry(id=self._new_id(), transaction_log_ref=self._new_id())
        begun = time.monotonic()
        try:
            await self._store.record(select(one))
        except StoreUnavailable:
            self.refused += 1
        else:
            self.acknowledged.append(one.id)
        self.longest_s = max(self.longest_s, time.monotonic() - begun)
        return one.id in self.acknowledged

    async def run(self) -> None:
        while True:
            await self.record()
            await asyncio.sleep(0.002)

    async def until_it_works(self, within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while not await self.record():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)


@asynccontextmanager
async def opened(dsn: str) -> AsyncIterator[SqlFeedbackStore]:
    database = Database(dsn, FEEDBACK_DATABASE, deadline_s=DEADLINE_S)
    yield SqlFeedbackStore(database=database, new_id=CountingIds(9))
    await database.aclose()


def all_processes(pid: int) -> list[int]:
    """A server's process and those that it started."""
    children = [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in _children(task)]
    return [pid, *(one for child in children for one in all_processes(child))]


def _children(task: Path) -> list[str]:
    return (task / "children").read_text().split()


@asynccontextmanager
async def hanging(server: SqlServer) -> AsyncIterator[None]:
    """None of the server's processes runs meanwhile; their connections stay open."""
    assert server.pid is not None
    stopped = all_processes(server.pid)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


async def check_nothing_is_lost(store: SqlFeedbackStore, clients: Clients) -> None:
    stored: list[FeedbackEntry] = []
    cursor: str | None = None
    while True:
        page = await store.page(EntryFilter(), 1000, cursor)
        stored += page.entries
        cursor = page.next_cursor
        if cursor is None:
            break
    assert set(clients.acknowledged) <= {one.id for one in stored}
    assert total((await store.counters()).values()) == total(map(counted, stored))


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_nothing_acknowledged_is_lost_when_a_server_goes_and_comes_back_under_load(
    own_server: SqlServer, end: str
) -> None:
    async with opened(own_server.create_database("load")) as store:
        clients = Clients(store)
        await clients.record()
        async with anyio.create_task_group() as group:
            for _ in range(16):
                group.start_soon(clients.run)
            await asyncio.sleep(0.3)
            await asyncio.to_thread(getattr(own_server, end))
            before = len(clients.acknowledged)
            await asyncio.sleep(0.3)
            assert len(clients.acknowledged) == before
            await asyncio.to_thread(own_server.start)
            await clients.until_it_works(within_s=5)
            await asyncio.sleep(0.3)
            group.cancel_scope.cancel()
        await clients.until_it_works(within_s=5)  # after the last batch of those who were just cancelled
        assert clients.refused > 0
        assert len(clients.acknowledged) > before + 1
        await check_nothing_is_lost(store, clients)


async def test_a_server_that_hangs_is_given_up_in_time_and_used_again_when_it_is_back(own_server: SqlServer) -> None:
    async with opened(own_server.create_database("hang")) as store:
        clients = Clients(store)
        await clients.record()
        async with hanging(own_server):
            for _ in range(2):
                begun = time.monotonic()
                calls = [clients.record() for _ in range(40)]
                reads = [store.page(EntryFilter(), 10, None) for _ in range(40)]
                assert await together(*calls) == [False] * 40
                assert {type(one) for one in await together(*reads)} == {StoreUnavailable}
                assert time.monotonic() - begun < 2 * DEADLINE_S + 4
        await clients.until_it_works(within_s=5)
        reads = [store.page(EntryFilter(), 10, None) for _ in range(60)]
        assert not any(isinstance(one, Exception) for one in await together(*reads))
        await check_nothing_is_lost(store, clients)


async def test_a_server_that_hangs_does_not_hold_up_the_end(own_server: SqlServer) -> None:
    async with opened(own_server.create_database("end")) as store:
        await together(*(store.page(EntryFilter(), 10, None) for _ in range(5)))
        async with hanging(own_server):
            begun = time.monotonic()
            await store._database.aclose()
            assert time.monotonic() - begun < 6


async def test_a_server_that_is_not_there_at_the_start_is_waited_for(own_server: SqlServer) -> None:
    dsn = own_server.create_database("late")
    own_server.stop()
    async with opened(dsn) as store:
        clients = Clients(store)
        assert not await clients.record()
        assert clients.longest_s < 1
        own_server.start()
        await clients.until_it_works(within_s=5)


@pytest.mark.parametrize(
    ("server", "setting"),
    [
        pytest.param(PostgresServer, {"max_connections": "8"}, id="postgres", marks=pytest.mark.engine("postgres")),
        pytest.param(MariaDbServer, {"max-connections": "10"}, id="mariadb", marks=pytest.mark.engine("mariadb")),
    ],
)
async def test_a_server_without_free_connections_is_waited_for(
    server: type[SqlServer], setting: dict[str, str]
) -> None:
    require(server)
    with server(settings=setting) as limited:
        dsn = limited.create_database("full")
        async with opened(dsn) as first, opened(dsn) as second:
            stores = [first, second]
            results = await together(*(store.page(EntryFilter(), 10, None) for store in stores * 30))
            refused = [str(one) for one in results if isinstance(one, StoreUnavailable)]
            assert refused
            assert all("too many connections" in one for one in refused)
            assert len(refused) == sum(isinstance(one, Exception) for one in results)
            assert (await first.page(EntryFilter(), 10, None)).entries == []
