"""Promoted copies and the catalog revision as rows; every function works inside the caller's transaction.

Each change of a promoted copy takes the next revision and is kept under it: the copy's row with its revision, or a
removal's. The revision row is locked from there to the commit, so that revisions become visible in their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from adapters.lessons.rows import copy_of, copy_row, vectors_of, vectors_row
from adapters.lessons.statements import (
    ADD_VECTORS,
    CHANGES,
    COPIES,
    COPY_FIELDS,
    FORGET_COPY,
    FORGET_REMOVAL,
    FORGET_VECTORS,
    NEXT_REVISION,
    PUT_COPY,
    REVISION,
    VECTORS,
)
from adapters.sql.dialects import upserting
from adapters.sql.tables import catalog_removals, lesson_vectors, promoted_lessons
from application.learner.ports import CatalogDelta, CatalogItem, StoredVectors
from domain.learner.lesson import PromotedLesson


def current_revision(connection: Connection) -> int:
    revision: int = REVISION.fetch(connection)[0][0]
    return revision


def promote(connection: Connection, copy: PromotedLesson, vectors: StoredVectors | None) -> None:
    """Puts the copy in place of the lesson's earlier one, with its embeddings where they are known."""
    NEXT_REVISION.run(connection)
    row = copy_row(copy)
    PUT_COPY.run(connection, [row[name] for name in COPY_FIELDS])
    FORGET_VECTORS.run(connection, (copy.id,))
    if vectors is not None:
        ADD_VECTORS.run(connection, [*vectors_row(vectors).values()])
    FORGET_REMOVAL.run(connection, (copy.id,))


def demote(connection: Connection, lesson_id: str) -> None:
    """Deletes the lesson's copy and its embeddings, if it has any."""
    there = select(promoted_lessons.c.lesson_id).where(promoted_lessons.c.lesson_id == lesson_id)
    if connection.execute(there).first() is None:
        return
    NEXT_REVISION.run(connection)
    FORGET_COPY.run(connection, (lesson_id,))
    FORGET_VECTORS.run(connection, (lesson_id,))
    removal = upserting(connection.dialect, catalog_removals, ("lesson_id",))
    connection.execute(removal, [{"lesson_id": lesson_id, "revision": current_revision(connection)}])


def put_vectors(connection: Connection, embedded: Sequence[CatalogItem]) -> None:
    """Stores the embeddings of those copies that are still the present ones."""
    table = promoted_lessons
    ids = [item.copy.id for item in embedded]
    present = select(table.c.lesson_id, table.c.version).where(table.c.lesson_id.in_(ids)).with_for_update()
    versions = {row.lesson_id: row.version for row in connection.execute(present.order_by(table.c.lesson_id))}
    rows = [
        vectors_row(item.vectors)
        for item in sorted(embedded, key=lambda item: item.copy.id)
        if item.vectors is not None and versions.get(item.copy.id) == item.copy.version
    ]
    if rows:
        connection.execute(upserting(connection.dialect, lesson_vectors, ("lesson_id", "embedder")), rows)


def changes_since(connection: Connection, revision: int, embedder: str, limit: int) -> CatalogDelta:
    """Up to `limit` changes after `revision`, oldest first, with the copies' vectors of this embedder.

    None, and the store's own revision, where that is not beyond `revision`.
    """
    newest = current_revision(connection)
    if newest <= revision:
        return CatalogDelta(revision=newest, promoted=[], removed=[])
    rows = CHANGES.fetch(connection, (revision, limit + 1))
    complete, rows = len(rows) <= limit, rows[:limit]
    return CatalogDelta(
        revision=newest if complete else rows[-1][0],
        promoted=_items(connection, [lesson_id for _, lesson_id, is_promoted in rows if is_promoted], embedder),
        removed=[lesson_id for _, lesson_id, is_promoted in rows if not is_promoted],
        complete=complete,
    )


def _items(connection: Connection, lesson_ids: list[str], embedder: str) -> list[CatalogItem]:
    if not lesson_ids:
        return []
    keys = [(lesson_id, embedder) for lesson_id in lesson_ids]
    stored = (vectors_of(row) for row in VECTORS.fetch(connection, keys))
    vectors = {one.lesson_id: one for one in stored}
    return [CatalogItem(copy=copy, vectors=vectors.get(copy.id)) for copy in copies(connection, lesson_ids).values()]


def copies(connection: Connection, lesson_ids: Sequence[str]) -> dict[str, PromotedLesson]:
    """The promoted copies that exist of these lessons."""
    found = (copy_of(row) for row in COPIES.fetch(connection, [(lesson_id,) for lesson_id in lesson_ids]))
    return {copy.id: copy for copy in found}
