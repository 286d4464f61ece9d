"""What is asked for often is found in an index on every engine, so that it costs the same with a million entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, Select

from adapters.feedback.counting import add_to_counters
from adapters.feedback.pages import newest_first, old_entries
from adapters.feedback.rows import entry_row
from adapters.feedback.statements import COUNTERS, ENTRIES, INSERT_ENTRIES, NUMBERS_OF_OUTCOMES, NUMBERS_OF_STEPS
from adapters.sql import dialects
from adapters.sql.database import Database
from adapters.sql.statements import Lookup
from application.feedback.ports import EntryFilter
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.feedback.metrics import counted
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import entry

COUNT = 6000
MIDDLE = COUNT // 2


def entries() -> list[FeedbackEntry]:
    """Of 300 sessions, 50 lessons and all flags; one in a hundred is a failure."""
    new_id = CountingIds(1)
    flags = {0: ResultFlag.FAILURE}
    return [
        entry(
            id=new_id(),
            transaction_log_ref=new_id(),
            session_id=f"session {number // 20}",
            problem_solving_step_ref=f"step {number % 20}",
            lesson_skill_id=f"lesson {number % 50}",
            result_flag=flags.get(number % 100, ResultFlag.SUCCESS if number % 2 else ResultFlag.PENDING),
            timestamp=START + timedelta(seconds=number),
            updated_at=START + timedelta(seconds=number),
        )
        for number in range(COUNT)
    ]


@pytest.fixture
async def filled(database: Database) -> Database:
    def work(connection: Connection) -> None:
        found = entries()
        INSERT_ENTRIES.run_many(connection, [tuple(entry_row(one).values()) for one in found])
        add_to_counters(connection, ((one, counted(one)) for one in found))

    await database.write(work)
    await database.write(_gather_statistics)
    return database


def _gather_statistics(connection: Connection) -> None:
    for table in ("feedback_entries", "lesson_counters"):
        dialects.run(connection, f"ANALYZE {'TABLE ' if connection.dialect.name == 'mysql' else ''}{table}")


Question = Callable[[Connection], object]


def lookup(of: Lookup, keys: Sequence[tuple[Any, ...]]) -> Question:
    return lambda connection: list(of.fetch(connection, keys))


def page(where: EntryFilter) -> Question:
    statement: Select[Any] = newest_first(where, 21, MIDDLE)
    return lambda connection: connection.execute(statement).all()


QUESTIONS: dict[str, Question] = {
    "the latest of steps": lookup(NUMBERS_OF_STEPS, [(f"session {n}", f"step {n}") for n in range(10)]),
    "outcomes": lookup(NUMBERS_OF_OUTCOMES, [(CountingIds(1)(),)]),
    "entries by number": lookup(ENTRIES, [(number,) for number in range(100, 110)]),
    "counters": lookup(COUNTERS, [(f"lesson {n}", 1) for n in range(10)]),
    "a page of all": page(EntryFilter()),
    "a page of a flag": page(EntryFilter(result_flag=ResultFlag.FAILURE)),
    "a page of a session": page(EntryFilter(session_id="session 7")),
    "a page of a lesson": page(EntryFilter(lesson_skill_id="lesson 7")),
    "a page of a lesson's failures": page(EntryFilter(lesson_skill_id="lesson 0", result_flag=ResultFlag.FAILURE)),
    "old entries where there are none": lambda connection: old_entries(connection, START, 100),
}


async def test_no_question_of_the_hot_path_reads_all_entries(filled: Database) -> None:
    done = {question: await filled.write(partial(_work_for, ask=ask)) for question, ask in QUESTIONS.items()}
    # A look at every entry would cost SQLite seven instructions each, and a server one row.
    limit = 2 * COUNT if filled.file else COUNT // 4
    assert {question: work for question, work in done.items() if work > limit} == {}


def _work_for(connection: Connection, ask: Question) -> int:
    ask(connection)  # plans and caches are made
    if connection.dialect.name == "sqlite":
        return _sqlite_steps(connection, ask)
    before = _work_done(connection)
    ask(connection)
    return _work_done(connection) - before


def _sqlite_steps(connection: Connection, ask: Question) -> int:
    """How many of its virtual machine's instructions SQLite runs for the question."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    driver: Any = connection.connection.dbapi_connection
    driver.set_progress_handler(count, 10)
    ask(connection)
    driver.set_progress_handler(None, 0)
    return counted * 10


def _work_done(connection: Connection) -> int:
    """Rows that the server has read for this session so far."""
    if connection.dialect.name == "mysql":
        rows = dialects.fetch(connection, "SHOW SESSION STATUS LIKE 'Handler_read%%'", ())
        return sum(int(value) for _, value in rows)
    query = (
        "SELECT coalesce(sum(seq_tup_read), 0) + coalesce(sum(idx_tup_fetch), 0) FROM pg_stat_xact_user_tables "
        "WHERE relname IN ('feedback_entries', 'lesson_counters')"
    )
    return int(dialects.fetch(connection, query, ())[0][0])
