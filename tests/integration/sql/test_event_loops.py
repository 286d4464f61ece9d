"""A store is used from one event loop after another, and by callers that give up."""

from __future__ import annotations

import asyncio
import gc

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


def entries(count: int) -> list[FeedbackEntry]:
    new_id = CountingIds(1)
    return [entry(id=new_id(), transaction_log_ref=new_id()) for _ in range(count)]


def opened(dsn: str) -> tuple[Database, SqlFeedbackStore]:
    database = Database(dsn, FEEDBACK_DATABASE)
    return database, SqlFeedbackStore(database=database, new_id=CountingIds(9))


def test_a_store_serves_one_event_loop_after_another(dsn: str) -> None:
    database, store = opened(dsn)
    for number, one in enumerate(entries(3), start=1):
        asyncio.run(closing_after(database, store, one, number))


async def closing_after(database: Database, store: SqlFeedbackStore, one: FeedbackEntry, number: int) -> None:
    await store.record(select(one))
    assert len((await store.page(EntryFilter(), 10, None)).entries) == number
    await database.aclose()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_store_that_was_not_closed_serves_the_next_event_loop(dsn: str) -> None:
    database, store = opened(dsn)

    async def record(one: FeedbackEntry) -> int:
        await store.record(select(one))
        return len((await store.page(EntryFilter(), 10, None)).entries)

    async def cut_off(some: list[FeedbackEntry]) -> None:
        """Ends the event loop while a batch is on its way."""
        tasks = [asyncio.ensure_future(store.record(select(one))) for one in some]
        await asyncio.sleep(0)
        assert not any(task.done() for task in tasks)

    first, *cut, last = entries(6)
    assert asyncio.run(record(first)) == 1
    asyncio.run(cut_off(cut))
    assert 2 <= asyncio.run(record(last)) <= 6
    asyncio.run(close(database))
    gc.collect()


async def close(database: Database) -> None:
    await database.aclose()


async def test_callers_that_give_up_cost_neither_connections_nor_others_results(dsn: str) -> None:
    database, store = opened(dsn)
    await store.page(EntryFilter(), 1, None)
    found = entries(60)
    recording = [asyncio.create_task(store.record(select(one))) for one in found]
    reading = [asyncio.create_task(store.page(EntryFilter(), 10, None)) for _ in range(60)]
    for round_ in range(5):
        await asyncio.sleep(0.002 * round_)
        for task in (*recording[round_::6], *reading[round_::6]):
            task.cancel()
    results = await asyncio.gather(*recording, *reading, return_exceptions=True)
    assert not [one for one in results if isinstance(one, Exception)]
    stored = (await store.page(EntryFilter(), 1000, None)).entries
    kept = {one.id for one, task in zip(found, recording, strict=True) if not task.cancelled()}
    assert kept <= {one.id for one in stored}
    assert total((await store.counters()).values()) == total(map(counted, stored))
    await asyncio.gather(*(store.page(EntryFilter(), 10, None) for _ in range(40)))
    await database.aclose()


async def test_closing_lets_what_is_on_its_way_end(dsn: str) -> None:
    database, store = opened(dsn)
    await store.page(EntryFilter(), 1, None)
    found = entries(20)
    recording = [asyncio.create_task(store.record(select(one))) for one in found]
    await asyncio.sleep(0.001)
    await database.aclose()
    results = await asyncio.gather(*recording, return_exceptions=True)
    assert {type(one) for one in results} <= {type(None), StoreUnavailable}
    stored = {one.id for one in (await store.page(EntryFilter(), 100, None)).entries}
    assert {one.id for one, result in zip(found, results, strict=True) if result is None} <= stored
    await database.aclose()
