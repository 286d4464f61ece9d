"""The statements that every search goes through, and every process at its start."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, select

from adapters.sql.statements import Lookup, key_name
from adapters.sql.tables import lesson_vectors, promoted_lessons
from application.learner.ports import StoredVectors
from domain.learner.lesson import PromotedLesson

_copy = promoted_lessons.c
_vectors = lesson_vectors.c

#: Of a promoted copy, in the order of `PromotedLesson`'s fields.
COPY_COLUMNS = [_copy["lesson_id" if name == "id" else name] for name in PromotedLesson.__struct_fields__]
_VECTORS_COLUMNS = [_vectors[name] for name in StoredVectors.__struct_fields__]


def _of_lessons(count: int) -> Select[Any]:
    keys = [bindparam(key_name(number), type_=_copy.lesson_id.type) for number in range(count)]
    return select(*COPY_COLUMNS).where(_copy.lesson_id.in_(keys))


def _of_pairs(count: int) -> Select[Any]:
    keys = [bindparam(key_name(number), type_=_vectors.lesson_id.type) for number in range(count)]
    return select(*_VECTORS_COLUMNS).where(_vectors.lesson_id.in_(keys))


#: By lesson: the columns of its promoted copy, in the order of `PromotedLesson`'s fields.
COPIES = Lookup(_of_lessons)
#: By lesson: its embeddings by whatever embedder, in the order of `StoredVectors`' fields.
VECTORS = Lookup(_of_pairs)
