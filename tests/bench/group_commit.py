"""Group commit: one caller against 64, and against one transaction a request.

Both databases write to the disk before they answer (SQLite `synchronous=FULL`, PostgreSQL `fsync=on`).
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import uvloop
from sqlalchemy import insert
from sqlalchemy.dialects.postgresql.asyncpg import dialect

from adapters.feedback.rows import entry_row
from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE
from adapters.sql.tables import feedback_entries
from adapters.system.clock import TimeOrderedIds
from application.feedback.ports import RecordSelection
from domain.feedback.entry import FeedbackEntry
from tests.bench import seeds
from tests.bench.scale import Scale
from tests.servers.postgres import PostgresServer

CALLERS = (1, 4, 16, 64)

Record = Callable[[FeedbackEntry], Awaitable[object]]

_COUNT = """
    INSERT INTO lesson_counters AS t (lesson_id, review_round, usage_count, success, failure, pending, lesson_failures)
    VALUES ($1, 1, 1, 0, 0, 1, 0) ON CONFLICT (lesson_id, review_round)
    DO UPDATE SET usage_count = t.usage_count + 1, pending = t.pending + 1
"""
_new_id = TimeOrderedIds()


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """So many selections recorded a second, by so many callers at once."""

    store: str
    callers: int
    per_second: float


def run(scale: Scale) -> dict[str, object]:
    """The rates of each store."""
    return {"rates": uvloop.run(_run(scale))}


async def _run(scale: Scale) -> list[Rate]:
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder:
        file = Path(folder) / "feedback.db"
        shutil.copyfile(seeds.feedback_file(scale.entries), file)
        rates = await _store_rates("SQLite, group commit", seeds.dsn(file), scale)
    unavailable = PostgresServer.unavailable()
    if unavailable is not None:
        raise RuntimeError(unavailable)
    with PostgresServer(fsync=True) as server:
        dsn = server.create_database("bench")
        rates += await _store_rates("PostgreSQL, group commit", dsn, scale)
        rates += await _asyncpg_rates("PostgreSQL, a transaction each", dsn, scale)
    return rates


async def _store_rates(name: str, dsn: str, scale: Scale) -> list[Rate]:
    database = Database(dsn, FEEDBACK_DATABASE)
    store = SqlFeedbackStore(database=database, new_id=_new_id)
    rates = await _rates(name, lambda entry: store.record(RecordSelection(entry=entry)), scale)
    await database.aclose()
    return rates


async def _asyncpg_rates(name: str, dsn: str, scale: Scale) -> list[Rate]:
    """As one writes it with the driver alone: a connection of the pool, a transaction, two statements."""
    asyncpg_dialect: Any = dialect
    compiled: Any = insert(feedback_entries).compile(
        dialect=asyncpg_dialect(), column_keys=[one.name for one in feedback_entries.columns if one.name != "seq"]
    )
    names, statement = compiled.positiontup, str(compiled)

    async with asyncpg.create_pool(dsn.replace("+asyncpg", ""), min_size=20, max_size=20) as pool:

        async def record(entry: FeedbackEntry) -> None:
            row = entry_row(entry)
            values = [_as_sent(row[name]) for name in names]
            async with pool.acquire() as connection, connection.transaction():
                await connection.execute(statement, *values)
                await connection.execute(_COUNT, entry.lesson_skill_id)

        return await _rates(name, record, scale)


def _as_sent(value: object) -> object:
    return msgspec.json.encode(value).decode() if isinstance(value, dict) else value


async def _rates(name: str, record: Record, scale: Scale) -> list[Rate]:
    await _rate(record, 16, scale.commits // 4)
    return [
        Rate(store=name, callers=callers, per_second=round(await _rate(record, callers, scale.commits), 1))
        for callers in CALLERS
    ]


async def _rate(record: Record, callers: int, count: int) -> float:
    """Selections a second: each caller sends its next once the last one is durable."""
    count = max(count * callers // max(CALLERS), count // 8)
    entries = iter([_fresh(number) for number in range(count)])

    async def call() -> None:
        for entry in entries:
            await record(entry)

    began = time.perf_counter()
    await asyncio.gather(*(call() for _ in range(callers)))
    return count / (time.perf_counter() - began)


def _fresh(number: int) -> FeedbackEntry:
    entry = seeds.entry(number)
    return msgspec.structs.replace(entry, id=_new_id(), transaction_log_ref=_new_id())
