"""The stores under contract: what each suite is run over. Another adapter joins by a line at the end.

An adapter is a factory of a context in which it is open. Its database is empty at the test's start; opened twice in one
test it shows the same data, as two processes would see them. What not every adapter can do is a named flag.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import pytest
from sqlalchemy import Connection, delete, update

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.feedback.sql_kept_answers import SqlKeptAnswers
from adapters.feedback.sql_miss_store import SqlMissStore
from adapters.feedback.sql_outbox import SqlOutbox
from adapters.lessons.sql_lesson_store import SqlLessonStore
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE, Schema
from adapters.sql.tables import catalog_state
from application.feedback.ports import FeedbackStore, KeptAnswers, MissStore, Outbox
from application.learner.ports import LessonStore
from tests.contract.parameters import Adapter
from tests.fakes.clock import CountingIds
from tests.fakes.fake_feedback_store import FakeFeedbackStore
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.fake_misses import FakeMissStore
from tests.fakes.fake_outbox import FakeOutbox

T = TypeVar("T")
Opening = Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[T]]
Address = Callable[[pytest.FixtureRequest, str], str]


class Server(Protocol):
    def create_database(self, name: str) -> str:
        """Creates an empty database; its address."""


#: Addresses of the databases that were created, by the server's fixture and their name.
_CREATED: dict[tuple[str, str], str] = {}
#: The test that each kind of database was emptied for last.
_LAST_TEST: dict[str, str] = {}


@dataclass(frozen=True)
class Feedback:
    """The ports that one feedback database serves."""

    store: FeedbackStore
    answers: KeptAnswers
    outbox: Outbox
    misses: MissStore


@dataclass(frozen=True)
class Case(Generic[T]):
    """`is_shared`: several processes may have it open at once, and what is stored outlives them. `engine` is the real
    server that it needs.
    """

    open: Opening[T]
    is_shared: bool = False
    engine: str | None = None


def params(cases: Mapping[str, Case[T]], *, shared: bool = False) -> list[object]:
    """The parameters of a fixture: all adapters, or those that several processes may share."""
    return [
        pytest.param(Adapter(name), marks=[pytest.mark.engine(case.engine)] if case.engine else [])
        for name, case in cases.items()
        if case.is_shared or not shared
    ]


@asynccontextmanager
async def _fake_lessons(_: pytest.FixtureRequest) -> AsyncIterator[LessonStore]:
    yield FakeLessonStore()


@asynccontextmanager
async def _fake_feedback(_: pytest.FixtureRequest) -> AsyncIterator[Feedback]:
    outbox = FakeOutbox()
    store = FakeFeedbackStore(outbox=outbox, new_id=_series_of_ids())
    yield Feedback(store=store, answers=store.answers, outbox=outbox, misses=FakeMissStore())


def _sqlite(request: pytest.FixtureRequest, name: str) -> str:
    return f"sqlite+aiosqlite:///{request.getfixturevalue('tmp_path')}/{name}.db"


def _on_server(fixture: str) -> Address:
    """One database for all tests on the server that the fixture starts; `_emptied` makes it new for each."""

    def address(request: pytest.FixtureRequest, name: str) -> str:
        server: Server = request.getfixturevalue(fixture)
        database = f"contract_{name}"
        if (fixture, database) not in _CREATED:
            _CREATED[fixture, database] = server.create_database(database)
        return _CREATED[fixture, database]

    return address


async def _emptied(database: Database, schema: Schema, request: pytest.FixtureRequest) -> None:
    """Empties the database when the first of a test's adapters opens it."""
    test = request.node.nodeid
    if _LAST_TEST.get(schema.name) == test:
        return
    _LAST_TEST[schema.name] = test

    def work(connection: Connection) -> None:
        for table in schema.metadata.tables.values():
            connection.execute(update(table).values(revision=0) if table is catalog_state else delete(table))

    await database.write(work)


def _sql_lessons(address: Address) -> Opening[LessonStore]:
    @asynccontextmanager
    async def opened(request: pytest.FixtureRequest) -> AsyncIterator[LessonStore]:
        database = Database(address(request, "lessons"), OBJECT_STORE)
        await _emptied(database, OBJECT_STORE, request)
        yield SqlLessonStore(database=database)
        await database.aclose()

    return opened


def _sql_feedback(address: Address) -> Opening[Feedback]:
    @asynccontextmanager
    async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Feedback]:
        database = Database(address(request, "feedback"), FEEDBACK_DATABASE)
        await _emptied(database, FEEDBACK_DATABASE, request)
        yield Feedback(
            store=SqlFeedbackStore(database=database, new_id=_series_of_ids()),
            answers=SqlKeptAnswers(database=database),
            outbox=SqlOutbox(database=database),
            misses=SqlMissStore(database=database),
        )
        await database.aclose()

    return opened


def _series_of_ids() -> CountingIds:
    return CountingIds(random.getrandbits(32))


_DATABASES: dict[str, tuple[Address, str | None]] = {
    "sql-sqlite": (_sqlite, None),
    "sql-postgres": (_on_server("postgres_server"), "postgres"),
    "sql-mariadb": (_on_server("mariadb_server"), "mariadb"),
}
LESSON_STORES: dict[str, Case[LessonStore]] = {"fake": Case(_fake_lessons)}
FEEDBACK: dict[str, Case[Feedback]] = {"fake": Case(_fake_feedback)}
for _name, (_address, _engine) in _DATABASES.items():
    LESSON_STORES[_name] = Case(_sql_lessons(_address), is_shared=True, engine=_engine)
    FEEDBACK[_name] = Case(_sql_feedback(_address), is_shared=True, engine=_engine)
