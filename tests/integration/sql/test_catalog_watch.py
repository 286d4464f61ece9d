"""Another process's change of the catalog is noticed at the next look; nothing else costs a read of the database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.lessons.sql_lesson_store import SqlLessonStore
from adapters.lessons.watch import PeriodicWatch, SqliteWatch
from adapters.sql.database import Database
from adapters.sql.schema import OBJECT_STORE
from tests.fakes.examples import injected, lesson


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lessons.db"


@pytest.fixture
def watch(file: Path) -> Iterator[SqliteWatch]:
    watch = SqliteWatch(str(file))
    yield watch
    watch.close()


async def test_a_commit_of_anybody_else_is_noticed(file: Path, watch: SqliteWatch) -> None:
    before_the_file = watch.look()
    database = Database(f"sqlite+aiosqlite:///{file}", OBJECT_STORE)
    store = SqlLessonStore(database=database)
    assert await store.revision() == 0
    created = watch.look()
    assert created != before_the_file
    await store.revision()
    assert watch.look() == watch.look() == created
    await store.add([injected(lesson())])
    changed = watch.look()
    assert changed != created
    watch.close()
    assert watch.look() not in (created, changed)
    await database.aclose()


def test_a_file_that_cannot_be_read_is_looked_at_every_time(file: Path, watch: SqliteWatch) -> None:
    file.write_bytes(b"no database " * 1000)
    looks = [watch.look() for _ in range(3)]
    assert len(set(looks)) == 3


def test_a_server_is_asked_once_in_every_period() -> None:
    often, seldom = PeriodicWatch(1e-6), PeriodicWatch(1e6)
    assert len({often.look() for _ in range(100)}) > 1
    assert len({seldom.look() for _ in range(100)}) == 1
