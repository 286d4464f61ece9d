"""What is asked for often is found in an index on every engine, so that it costs the same with a million rows."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar, cast

import pytest
from sqlalchemy import Connection, Select, insert

from adapters.feedback.counting import add_to_counters
from adapters.feedback.pages import newest_first, old_entries
from adapters.feedback.rows import entry_row, outbox_row
from adapters.feedback.sql_outbox import SqlOutbox
from adapters.feedback.statements import COUNTERS, ENTRIES, INSERT_ENTRIES, NUMBERS_OF_OUTCOMES, NUMBERS_OF_STEPS
from adapters.sql import dialects
from adapters.sql.database import Database
from adapters.sql.statements import Lookup
from adapters.sql.tables import escalations
from application.feedback.ports import EntryFilter, EscalationFilter, Outbox
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.feedback.escalation import Escalation, Path, State
from domain.feedback.metrics import counted
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import entry, escalation

COUNT = 6000
MIDDLE = COUNT // 2
NOW = START + timedelta(days=1)

T = TypeVar("T")


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


def owed() -> list[Escalation]:
    """One half has been delivered; of the other, which a target that is down owes to us, ten are due."""
    new_id = CountingIds(2)
    states = (State.DELIVERED, State.PENDING)
    return [
        escalation(
            id=new_id(),
            entry_id=new_id(),
            lesson_skill_id=f"lesson {number % 50}",
            state=states[number % 2],
            created_at=START + timedelta(seconds=number),
            next_attempt_at=NOW + timedelta(seconds=-1 if number < 20 else 60),
        )
        for number in range(COUNT)
    ]


@pytest.fixture
async def filled(database: Database) -> Database:
    def work(connection: Connection) -> None:
        found = entries()
        INSERT_ENTRIES.run_many(connection, [tuple(entry_row(one).values()) for one in found])
        add_to_counters(connection, ((one, counted(one)) for one in found))
        connection.execute(insert(escalations), [outbox_row(one, "nobody", START) for one in owed()])

    await database.write(work)
    await database.write(_gather_statistics)
    return database


TABLES = ("feedback_entries", "lesson_counters", "escalations")


def _gather_statistics(connection: Connection) -> None:
    for table in TABLES:
        dialects.run(connection, f"ANALYZE {'TABLE ' if connection.dialect.name == 'mysql' else ''}{table}")


Question = Callable[[Connection], object]


def lookup(of: Lookup, keys: Sequence[tuple[Any, ...]]) -> Question:
    return lambda connection: list(of.fetch(connection, keys))


def page(where: EntryFilter) -> Question:
    statement: Select[Any] = newest_first(where, 21, MIDDLE)
    return lambda connection: connection.execute(statement).all()


class OnConnection:
    """A database whose every transaction is the one that is under way."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read(self, work: Callable[[Connection], T]) -> T:
        return work(self._connection)

    write = read


def outbox(command: Callable[[Outbox], Coroutine[Any, Any, object]]) -> Question:
    def ask(connection: Connection) -> object:
        try:
            command(SqlOutbox(database=cast("Database", OnConnection(connection)))).send(None)
        except StopIteration as done:
            return done.value
        raise AssertionError("it waits for something")

    return ask


def escalation_page(where: EscalationFilter) -> Question:
    return outbox(lambda box: box.page(where, 20, None))


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
    "due escalations": outbox(lambda box: box.claim(Path.HUMAN, "me", NOW, NOW, 10)),
    "due escalations where there are none": outbox(lambda box: box.claim(Path.AUTO, "me", NOW, NOW, 10)),
    "a page of escalations": escalation_page(EscalationFilter()),
    "a page of a state's escalations": escalation_page(EscalationFilter(state=State.PENDING)),
    "a page of a lesson's escalations": escalation_page(EscalationFilter(lesson_skill_id="lesson 7")),
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
        "WHERE relname IN ('feedback_entries', 'lesson_counters', 'escalations')"
    )
    return int(dialects.fetch(connection, query, ())[0][0])
