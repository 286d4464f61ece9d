"""The statements that every search goes through, every decision, and every process at its start."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Integer, Select, bindparam, delete, insert, literal_column, or_, select, union_all, update

from adapters.sql.dialects import upserting
from adapters.sql.statements import Lookup, Prepared, key_name
from adapters.sql.tables import (
    catalog_removals,
    catalog_state,
    lesson_log,
    lesson_vectors,
    lessons,
    promoted_lessons,
)
from application.learner.ports import StoredVectors
from domain.learner.lesson import Lesson, PromotedLesson
from domain.learner.log import LogEntry

_lesson = lessons.c
_copy = promoted_lessons.c
_removal = catalog_removals.c
_vectors = lesson_vectors.c

#: Of a lesson, in the order of `Lesson`'s fields.
LESSON_COLUMNS = [_lesson[name] for name in Lesson.__struct_fields__]
#: Of a log entry, in the order of `LogEntry`'s fields.
LOG_COLUMNS = [lesson_log.c[name] for name in LogEntry.__struct_fields__]
#: Of a promoted copy, in the order of `PromotedLesson`'s fields.
COPY_COLUMNS = [_copy["lesson_id" if name == "id" else name] for name in PromotedLesson.__struct_fields__]
_VECTORS_COLUMNS = [_vectors[name] for name in StoredVectors.__struct_fields__]
#: What a decision writes of its lesson.
CHANGED_FIELDS = [column.name for column in lessons.columns if column.name != "id"]
#: What a promotion writes of its copy, but for the revision.
COPY_FIELDS = [column.name for column in promoted_lessons.columns if column.name != "revision"]


def _copies_of(count: int) -> Select[Any]:
    keys = [bindparam(key_name(number), type_=_copy.lesson_id.type) for number in range(count)]
    return select(*COPY_COLUMNS).where(_copy.lesson_id.in_(keys))


def _vectors_of(count: int) -> Select[Any]:
    pairs = (
        (_vectors.lesson_id == bindparam(key_name(number, 0), type_=_vectors.lesson_id.type))
        & (_vectors.embedder == bindparam(key_name(number, 1), type_=_vectors.embedder.type))
        for number in range(count)
    )
    return select(*_VECTORS_COLUMNS).where(or_(*pairs))


def _changes() -> Select[Any]:
    since = bindparam("since", type_=_copy.revision.type)
    changed = union_all(
        select(_copy.revision, _copy.lesson_id, literal_column("1").label("is_promoted")).where(_copy.revision > since),
        select(_removal.revision, _removal.lesson_id, literal_column("0")).where(_removal.revision > since),
    ).subquery()
    return select(changed).order_by(changed.c.revision).limit(bindparam("most", type_=Integer))


def _of_lesson() -> Select[Any]:
    return select(*LESSON_COLUMNS).where(_lesson.id == bindparam("of_lesson"))


#: By lesson: the columns of its promoted copy, in the order of `PromotedLesson`'s fields.
COPIES = Lookup(_copies_of)
#: By lesson and embedder: the lesson's embeddings, in the order of `StoredVectors`' fields.
VECTORS = Lookup(_vectors_of, width=2)
#: By lesson: its columns; where the engine has row locks, LOCKED_LESSON locks the row.
LESSON = Prepared(lambda _: _of_lesson(), ["of_lesson"])
LOCKED_LESSON = Prepared(lambda _: _of_lesson().with_for_update(), ["of_lesson"])
CHANGE_LESSON = Prepared(
    lambda _: (
        update(lessons)
        .where(_lesson.id == bindparam("of_lesson"))
        .values({name: bindparam(f"new_{name}", type_=_lesson[name].type) for name in CHANGED_FIELDS})
    ),
    ["of_lesson", *(f"new_{name}" for name in CHANGED_FIELDS)],
)
ADD_LOG = Prepared(lambda _: insert(lesson_log).inline(), LogEntry.__struct_fields__)
REVISION = Prepared(lambda _: select(catalog_state.c.revision), [])
NEXT_REVISION = Prepared(lambda _: update(catalog_state).values(revision=catalog_state.c.revision + 1), [])
#: Revision and lesson of up to so many changes after a revision, oldest first, and whether the lesson is promoted.
CHANGES = Prepared(lambda _: _changes(), ["since", "most"])
#: Under the present revision, in the place of the lesson's earlier copy.
PUT_COPY = Prepared(
    lambda dialect: (
        upserting(dialect, promoted_lessons, ("lesson_id",))
        .values(revision=select(catalog_state.c.revision).scalar_subquery())
        .inline()
    ),
    COPY_FIELDS,
)
ADD_VECTORS = Prepared(lambda _: insert(lesson_vectors).inline(), StoredVectors.__struct_fields__)
FORGET_COPY = Prepared(
    lambda _: delete(promoted_lessons).where(_copy.lesson_id == bindparam("of_lesson")), ["of_lesson"]
)
FORGET_VECTORS = Prepared(
    lambda _: delete(lesson_vectors).where(_vectors.lesson_id == bindparam("of_lesson")), ["of_lesson"]
)
FORGET_REMOVAL = Prepared(
    lambda _: delete(catalog_removals).where(_removal.lesson_id == bindparam("of_lesson")), ["of_lesson"]
)
