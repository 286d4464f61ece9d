"""What the vector index keeps in Milvus: one collection for an embedder, and the filters that read it.

Milvus knows neither transactions nor conditional writes. Therefore a row is never changed: each version of a lesson has
rows of its own, with the revision as of which it was written, and a removal is a row too. Of several versions the one
with the highest revision counts, whoever wrote it and whenever; the others are deleted. In the same way the revision
that the index reflects is the highest that is noted for the present epoch, which begins with each reset.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final

from adapters.vectors.made_for import MadeFor
from adapters.vectors.stored_vectors import finite
from application.learner.ports import StoredVectors
from domain.learner.lesson import Bin

PREFIX: Final = "memorygrid_lessons_"
INDEX: Final = "index"
REVISION: Final = "revision"
REMOVED: Final = "removed"
"""Kinds of rows in the field `bin`, beside the bins themselves."""

Row = dict[str, Any]

_SAFE_ID: Final = re.compile(r"[A-Za-z0-9_.:@ -]{1,64}")
_LONGEST_KEY: Final = 512


def collection_name(made_for: MadeFor) -> str:
    return f"{PREFIX}{made_for.digest}"


def schema_of(client: Any, made_for: MadeFor) -> Any:
    """`lesson_id` is the epoch in rows of the index itself."""
    from pymilvus import DataType  # noqa: PLC0415 - slow, and of an extra

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, max_length=_LONGEST_KEY, is_primary=True)
    schema.add_field("lesson_id", DataType.VARCHAR, max_length=64)
    schema.add_field("bin", DataType.VARCHAR, max_length=32)
    schema.add_field("revision", DataType.INT64)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=made_for.dimension)
    return schema


def indices_of(client: Any) -> Any:
    """HNSW for searches, and those that find a lesson's rows and the index' own."""
    indices = client.prepare_index_params()
    indices.add_index("embedding", index_type="HNSW", metric_type="COSINE", params={"M": 16, "efConstruction": 128})
    indices.add_index("lesson_id", index_type="INVERTED")
    indices.add_index("bin", index_type="INVERTED")
    return indices


def index_row(made_for: MadeFor) -> Row:
    """Begins an epoch, and says whose vectors these are."""
    epoch = str(uuid.uuid4())
    return _row(f"{INDEX}/{epoch}/{made_for.embedder}", epoch, INDEX, 0, made_for.dimension)


def embedder_of(row: Row) -> str:
    """The embedder's name from a key that `index_row` has made."""
    key: str = row["id"]
    return key.split("/", 2)[2]


def revision_row(epoch: str, revision: int, dimension: int) -> Row:
    return _row(f"{REVISION}/{epoch}/{revision}", epoch, REVISION, revision, dimension)


def lesson_rows(stored: StoredVectors, revision: int) -> list[Row]:
    """A version of a lesson; one without vectors is its removal. Raises `ValueError` for what is no lesson id."""
    lesson_id = stored.lesson_id
    if not _SAFE_ID.fullmatch(lesson_id):
        raise ValueError(f"{lesson_id!r} is no lesson id")
    vectors = finite(stored.data, stored.dimension)
    return [
        _row(f"{lesson_id}/{revision}/{part}", lesson_id, stored.bin.value, revision, vector)
        for part, vector in enumerate(vectors)
    ] or [removal_row(lesson_id, revision, stored.dimension)]


def removal_row(lesson_id: str, revision: int, dimension: int) -> Row:
    return _row(f"{lesson_id}/{revision}/{REMOVED}", lesson_id, REMOVED, revision, dimension)


def of_bin(bin: Bin | None) -> str:
    """A filter: the vectors of one bin, or of both."""
    return f"bin in {_quoted([bin.value] if bin else [one.value for one in Bin])}"


def of_lessons(lesson_ids: Iterable[str]) -> str:
    """A filter: all rows of these lessons."""
    return f"lesson_id in {_quoted(lesson_ids)}"


def of_kind(kind: str) -> str:
    """A filter: the rows of one of the kinds above."""
    return f"bin == '{kind}'"


def safe(lesson_ids: Iterable[str]) -> list[str]:
    """Those that may be ids of lessons and can stand in a filter."""
    return [lesson_id for lesson_id in lesson_ids if _SAFE_ID.fullmatch(lesson_id)]


def latest(rows: Sequence[Row]) -> list[Row]:
    """Of each lesson only the rows of its highest revision."""
    highest: dict[str, int] = {}
    for row in rows:
        highest[row["lesson_id"]] = max(row["revision"], highest.get(row["lesson_id"], 0))
    return [row for row in rows if row["revision"] == highest[row["lesson_id"]]]


def _row(key: str, lesson_id: str, bin: str, revision: int, vector: Any) -> Row:
    """`vector` may be given as a dimension: then any one will do, since no search sees the row."""
    embedding = [1.0] + [0.0] * (vector - 1) if isinstance(vector, int) else vector
    return {"id": key, "lesson_id": lesson_id, "bin": bin, "revision": revision, "embedding": embedding}


def _quoted(values: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"
