"""Databases with many lessons and many feedback entries, made once and kept in the machine's temporary folder.

Rows are inserted in bulk with the service's own tables and row functions, so that what is read back is what the service
would have written itself. `MEMORYGRID_BENCH_CACHE` puts the cache elsewhere; deleting it is harmless.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import anyio
import msgspec
from sqlalchemy import Connection, Table, insert, update

from adapters.embedders.hashing_embedder import HashingEmbedder
from adapters.feedback.rows import entry_row
from adapters.lessons.rows import copy_row, lesson_row, vectors_row
from adapters.lessons.skill_folder import SkillFolder
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE, Schema
from adapters.sql.tables import (
    catalog_state,
    feedback_entries,
    lesson_counters,
    lesson_vectors,
    lessons,
    promoted_lessons,
)
from application.learner.embed import EmbedLessons
from application.learner.ports import StoredVectors
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.feedback.metrics import Counters, counted
from domain.learner.lesson import Lesson, PromotedLesson, Status
from tests.bench import corpus

RULES = 100
"""Problem types that have a rule; each finds the lesson of its number by the title."""

STEPS = 4
"""Of one session."""

_AT_ONCE = 2_000
_BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Lessons(msgspec.Struct, frozen=True, kw_only=True):
    """A whole catalog: the object store's file, the lessons folder and the rules file."""

    file: Path
    folder: Path
    rules: Path

    @property
    def dsn(self) -> str:
        return dsn(self.file)


def dsn(file: Path) -> str:
    """The address of an SQLite file."""
    return f"sqlite+aiosqlite:///{file}"


def lesson_catalog(count: int) -> Lessons:
    """A catalog of so many promoted lessons, with vectors. Its lessons folder is empty, but says it is up to date."""
    place = _cached(f"lessons-{corpus.VERSION}-{OBJECT_STORE.head}-{HashingEmbedder().name}-{count}")
    found = Lessons(file=place / "lessons.db", folder=place / "lessons", rules=place / "rules.json")
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        found.rules.write_bytes(_rules(count))
        anyio.run(_fill_lessons, found, count)
        (place / "complete").touch()
    return found


def lesson_files(count: int) -> Path:
    """A lessons folder that holds the files of so many lessons."""
    place = _cached(f"files-{corpus.VERSION}-{count}")
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        anyio.run(SkillFolder(place / "lessons").apply, [corpus.lesson(number) for number in range(count)], [], count)
        (place / "complete").touch()
    return place / "lessons"


def feedback_file(count: int) -> Path:
    """A feedback database with so many entries of the first `RULES` lessons. Copy it before use."""
    place = _cached(f"feedback-{corpus.VERSION}-{FEEDBACK_DATABASE.head}-{count}")
    file = place / "feedback.db"
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        anyio.run(_fill_feedback, file, count)
        (place / "complete").touch()
    return file


def vectors_of(file: Path) -> Iterator[StoredVectors]:
    """All vectors of a catalog, lesson by lesson."""
    with sqlite3.connect(file) as connection:
        columns = StoredVectors.__struct_fields__
        for row in connection.execute(f"SELECT {', '.join(columns)} FROM lesson_vectors ORDER BY rowid"):  # noqa: S608
            yield msgspec.convert(dict(zip(columns, row, strict=True)), StoredVectors)


def step_of(number: int) -> tuple[str, str]:
    """Session and step of a seeded entry."""
    return f"session-{number // STEPS}", f"step-{number % STEPS}"


def _cached(name: str) -> Path:
    root = os.environ.get("MEMORYGRID_BENCH_CACHE") or Path(tempfile.gettempdir()) / "memorygrid-bench"
    return Path(root) / name


def _rules(count: int) -> bytes:
    chosen = [corpus.lesson(number) for number in range(min(RULES, count))]
    rules = [
        {"problem_type": f"problem-{number}", "target_bin": one.bin, "query": one.title}
        for number, one in enumerate(chosen)
    ]
    return msgspec.json.encode({"rules": rules})


async def _fill_lessons(found: Lessons, count: int) -> None:
    database, embed = _database(found.file, OBJECT_STORE), EmbedLessons(embedder=HashingEmbedder())
    for start in range(0, count, _AT_ONCE):
        copies = [corpus.lesson(number) for number in range(start, min(start + _AT_ONCE, count))]
        embedded = await embed(copies)
        rows: list[tuple[Table, list[dict[str, object]]]] = [
            (lessons, [lesson_row(_original(copy)) for copy in copies]),
            (promoted_lessons, [{**copy_row(copy), "revision": start + at + 1} for at, copy in enumerate(copies)]),
            (lesson_vectors, [vectors_row(one) for one in embedded]),
        ]
        await database.write(lambda connection, rows=rows: _insert(connection, rows))  # type: ignore[misc]
    await database.write(lambda connection: connection.execute(update(catalog_state).values(revision=count)))
    await database.aclose()
    await SkillFolder(found.folder).apply([], [], count)


async def _fill_feedback(file: Path, count: int) -> None:
    database = _database(file, FEEDBACK_DATABASE)
    sums: dict[str, Counters] = {}
    for start in range(0, count, _AT_ONCE):
        entries = [entry(number) for number in range(start, min(start + _AT_ONCE, count))]
        for one in entries:
            sums[one.lesson_skill_id] = sums.get(one.lesson_skill_id, Counters()) + counted(one)
        rows = [(feedback_entries, [entry_row(one) for one in entries])]
        await database.write(lambda connection, rows=rows: _insert(connection, rows))  # type: ignore[misc]
    totals = [
        {"lesson_id": lesson_id, "review_round": 1, **msgspec.structs.asdict(total)}
        for lesson_id, total in sums.items()
    ]
    await database.write(lambda connection: _insert(connection, [(lesson_counters, totals)]))
    await database.aclose()


def _database(file: Path, schema: Schema) -> Database:
    return Database(dsn(file), schema)


def _insert(connection: Connection, rows: Sequence[tuple[Table, list[dict[str, object]]]]) -> None:
    for table, of_table in rows:
        if of_table:
            connection.execute(insert(table), of_table)


def _original(copy: PromotedLesson) -> Lesson:
    return Lesson(
        id=copy.id,
        bin=copy.bin,
        title=copy.title,
        body=copy.body,
        tags=copy.tags,
        dsl_payload=copy.dsl_payload,
        status=Status.PROMOTED,
        version=copy.version,
        review_round=copy.review_round,
        source="benchmark",
        created_at=copy.promoted_at,
        updated_at=copy.promoted_at,
    )


def entry(number: int) -> FeedbackEntry:
    """Two entries in three are decided, one in five of all failed."""
    session, step = step_of(number)
    at = _BEGIN + timedelta(seconds=number)
    flag = (ResultFlag.PENDING, ResultFlag.SUCCESS, ResultFlag.SUCCESS)[number % 3]
    return FeedbackEntry(
        id=f"{number:08x}-0000-7000-8000-{0:012x}",
        problem_solving_step_ref=step,
        session_id=session,
        lesson_skill_id=corpus.lesson_id(number % RULES),
        matched_entity_type="skill",
        selection_query={
            "session_id": session,
            "problem_solving_step_ref": step,
            "problem_type": f"problem-{number % RULES}",
        },
        selection_context={"operation": f"upload {number}", "task": {"file": "report.pdf", "attempt": 3}},
        result_flag=flag,
        usage_count=1 if flag is ResultFlag.PENDING else 2,
        transaction_log_ref=f"{number:08x}-0000-7000-8000-{1:012x}",
        timestamp=at,
        updated_at=at,
        review_round=1,
        matcher_used="dsl",
    )
