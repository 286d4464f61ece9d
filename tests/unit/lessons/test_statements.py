"""What the prepared statements of the object store find."""

from __future__ import annotations

from sqlalchemy import create_engine

from adapters.lessons.rows import vectors_of, vectors_row
from adapters.lessons.statements import ADD_VECTORS, VECTORS
from adapters.sql.tables import lesson_vectors
from tests.fakes.examples import vectors


def test_vectors_are_looked_up_by_lesson_and_embedder() -> None:
    stored = [vectors(lesson_id, embedder=embedder) for lesson_id in ("a", "b") for embedder in ("one", "other")]
    engine = create_engine("sqlite://", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        lesson_vectors.create(connection)
        ADD_VECTORS.run_many(connection, [[*vectors_row(one).values()] for one in stored])
        keys = [("a", "other"), ("b", "other"), ("c", "other")]
        found = [vectors_of(row) for row in VECTORS.fetch(connection, keys)]
    engine.dispose()
    assert sorted(found, key=lambda one: one.lesson_id) == [stored[1], stored[3]]
