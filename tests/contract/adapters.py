"""The stores under contract: what each suite is run over. Another adapter joins by a line at the end.

An adapter is a factory of a context in which it is open. Its database is empty at the test's start; opened twice in one
test it shows the same data, as two processes would see them. What not every adapter can do is a named flag.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import pytest

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.feedback.sql_miss_store import SqlMissStore
from adapters.feedback.sql_outbox import SqlOutbox
from adapters.lessons.sql_lesson_store import SqlLessonStore
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE
from application.feedback.ports import FeedbackStore, MissStore, Outbox
from application.learner.ports import LessonStore
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


@dataclass(frozen=True)
class Feedback:
    """The ports that one feedback database serves."""

    store: FeedbackStore
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
        pytest.param(case, id=name, marks=[pytest.mark.engine(case.engine)] if case.engine else [])
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
    yield Feedback(store=store, outbox=outbox, misses=FakeMissStore())


def _sqlite(request: pytest.FixtureRequest, name: str) -> str:
    return f"sqlite+aiosqlite:///{request.getfixturevalue('tmp_path')}/{name}.db"


def _on_server(fixture: str) -> Address:
    """A fresh database for each test on the server that the fixture starts."""

    def address(request: pytest.FixtureRequest, name: str) -> str:
        server: Server = request.getfixturevalue(fixture)
        database = f"{name}_{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]}"
        dsn = _CREATED.get((fixture, database))
        if dsn is None:
            dsn = _CREATED[fixture, database] = server.create_database(database)
        return dsn

    return address


def _sql_lessons(address: Address) -> Opening[LessonStore]:
    @asynccontextmanager
    async def opened(request: pytest.FixtureRequest) -> AsyncIterator[LessonStore]:
        database = Database(address(request, "lessons"), OBJECT_STORE)
        yield SqlLessonStore(database=database)
        await database.aclose()

    return opened


def _sql_feedback(address: Address) -> Opening[Feedback]:
    @asynccontextmanager
    async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Feedback]:
        database = Database(address(request, "feedback"), FEEDBACK_DATABASE)
        yield Feedback(
            store=SqlFeedbackStore(database=database, new_id=_series_of_ids()),
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
