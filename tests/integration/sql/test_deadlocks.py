"""Deadlocks, locks and killed connections of the real servers are overcome in silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE
from application.feedback.ports import ReportOutcome
from domain.errors import StoreUnavailable
from domain.feedback.entry import FeedbackEntry, ResultFlag
from tests.fakes.clock import CountingIds
from tests.fakes.examples import entry, outcome_of, select
from tests.fakes.together import all_of

COUNT = text("UPDATE lesson_counters SET usage_count = usage_count + 0 WHERE lesson_id = :lesson")


@asynccontextmanager
async def somebody_else(dsn: str) -> AsyncIterator[AsyncConnection]:
    """A transaction of another program's, which never loses a deadlock: it has done more, or looks later."""
    engine = create_async_engine(dsn)
    async with engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            await connection.execute(text("SET deadlock_timeout = '60s'"))
        else:
            await connection.execute(text("CREATE TEMPORARY TABLE work (n INT) ENGINE=InnoDB"))
            await connection.execute(text("INSERT INTO work SELECT seq FROM seq_1_to_1000"))
        yield connection
        await connection.rollback()
    await engine.dispose()


def key(connection: Connection | AsyncConnection, lesson: str) -> str | bytes:
    """A lesson's id as the engine keeps it."""
    return lesson if connection.dialect.name == "postgresql" else lesson.encode()


def of_lessons(*lessons: str) -> list[FeedbackEntry]:
    new_id = CountingIds(1)
    return [
        entry(id=new_id(), transaction_log_ref=new_id(), problem_solving_step_ref=one, lesson_skill_id=lesson)
        for one, lesson in ((f"step {n}", lesson) for n, lesson in enumerate(lessons))
    ]


async def test_a_report_that_loses_a_deadlock_is_tried_again(server_dsn: str) -> None:
    database = Database(server_dsn, FEEDBACK_DATABASE)
    store = SqlFeedbackStore(database=database, new_id=CountingIds(9))
    found = of_lessons("a", "b")
    await all_of(*(store.record(select(one)) for one in found))

    async with somebody_else(server_dsn) as other:
        await other.execute(COUNT, {"lesson": key(other, "b")})
        reports = asyncio.create_task(all_of(*(store.report(outcome_of(one)) for one in found)))
        await wait_for_a_lock(server_dsn)
        await other.execute(COUNT, {"lesson": key(other, "a")})
        await other.commit()
        told = await reports

    assert [one.entry.failures_seen for one in told] == [1, 1]
    counters = await store.counters()
    assert {lesson: of.usage_count for lesson, of in counters.items()} == {"a": 2, "b": 2}
    await database.aclose()


async def wait_for_a_lock(dsn: str) -> None:
    """Until some transaction waits for another."""
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        if dsn.startswith("postgresql")
        else "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
    )
    engine = create_async_engine(dsn, isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        waiting = 0
        for _ in range(500):
            waiting = (await connection.execute(text(query))).scalar_one()
            if waiting:
                break
            await asyncio.sleep(0.02)
        assert waiting
    await engine.dispose()


async def test_the_whole_of_a_transaction_that_loses_a_deadlock_is_repeated(server_dsn: str) -> None:
    database = Database(server_dsn, FEEDBACK_DATABASE)
    store = SqlFeedbackStore(database=database, new_id=CountingIds(9))
    await all_of(*(store.record(select(one)) for one in of_lessons("a", "b")))
    runs = 0

    def work(connection: Connection) -> int:
        nonlocal runs
        runs += 1
        for lesson in ("a", "b"):
            connection.execute(COUNT, {"lesson": key(connection, lesson)})
        return runs

    async with somebody_else(server_dsn) as other:
        await other.execute(COUNT, {"lesson": key(other, "b")})
        writing = asyncio.create_task(database.write(work))
        await wait_for_a_lock(server_dsn)
        await other.execute(COUNT, {"lesson": key(other, "a")})
        await other.commit()
        assert await writing == runs
    assert runs > 1
    await database.aclose()


async def test_a_lock_that_is_held_for_ever_ends_in_the_store_being_unavailable(server_dsn: str) -> None:
    database = Database(server_dsn, FEEDBACK_DATABASE, deadline_s=1.0)
    store = SqlFeedbackStore(database=database, new_id=CountingIds(9))
    (one,) = of_lessons("a")
    await store.record(select(one))
    command: ReportOutcome = outcome_of(one, ResultFlag.FAILURE)
    async with somebody_else(server_dsn) as other:
        await other.execute(COUNT, {"lesson": key(other, "a")})
        with pytest.raises(StoreUnavailable):
            await store.report(command)
    assert (await store.report(command)).entry.usage_count == 2
    await database.aclose()


async def test_a_transaction_whose_connection_is_killed_before_its_commit_is_repeated(server_dsn: str) -> None:
    database = Database(server_dsn, FEEDBACK_DATABASE)
    store = SqlFeedbackStore(database=database, new_id=CountingIds(9))
    (one,) = of_lessons("a")
    await store.record(select(one))
    async with somebody_else(server_dsn) as other:
        await other.execute(COUNT, {"lesson": key(other, "a")})
        report = asyncio.create_task(store.report(outcome_of(one)))
        await wait_for_a_lock(server_dsn)
        await kill_the_waiting(server_dsn)
        await other.commit()
        assert (await report).entry.usage_count == 2
    assert (await store.get(one.id)).usage_count == 2
    await database.aclose()


async def kill_the_waiting(dsn: str) -> None:
    """Ends the connections that wait for a lock."""
    waiting, kill = (
        ("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'", "SELECT pg_terminate_backend({})")
        if dsn.startswith("postgresql")
        else (
            "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
            "KILL CONNECTION {}",
        )
    )
    engine = create_async_engine(dsn, isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        for number in (await connection.scalars(text(waiting))).all():
            await connection.execute(text(kill.format(number)))
    await engine.dispose()
