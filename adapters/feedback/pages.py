"""Which entries a page or a pruning takes, found in steps as many as it takes, however many entries there are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, select, union_all

from adapters.feedback.statements import ENTRY_FIELDS
from adapters.sql.cursors import Cursors
from adapters.sql.tables import feedback_entries
from application.feedback.ports import EntryFilter
from domain.feedback.entry import ResultFlag

#: Of places among the entries, whose numbers they are.
CURSORS = Cursors("feedback")

_entry = feedback_entries.c
_READ_AT_ONCE = 1000


def newest_first(where: EntryFilter, limit: int, below: int | None) -> Select[Any]:
    """Number and fields of the newest entries, below a number if one is given.

    Their numbers come out of an index alone, which every engine's planner then takes: looking for the fields at the
    same time, some rather walk through all entries until enough of them fit.
    """
    entries = select(_entry.seq, *(_entry[name] for name in ENTRY_FIELDS)).order_by(_entry.seq.desc()).limit(limit)
    numbers = select(_entry.seq).order_by(_entry.seq.desc()).limit(limit)
    found = [_fitting(numbers, where, flag, below).subquery() for flag in _flags(where)]
    newest = union_all(*(select(one.c.seq) for one in found)).subquery()
    return entries.join(newest, newest.c.seq == _entry.seq)


def _flags(where: EntryFilter) -> Sequence[ResultFlag | None]:
    """The flags to look for one by one. The index of a lesson's entries is by flag, so that a page of one flag is found
    in it; a page of all flags is the newest of the three.
    """
    by_lesson = where.lesson_skill_id is not None and where.session_id is None
    return list(ResultFlag) if by_lesson and where.result_flag is None else [where.result_flag]


def _fitting(entries: Select[Any], where: EntryFilter, flag: ResultFlag | None, below: int | None) -> Select[Any]:
    if where.lesson_skill_id is not None:
        entries = entries.where(_entry.lesson_skill_id == where.lesson_skill_id)
    if where.session_id is not None:
        entries = entries.where(_entry.session_id == where.session_id)
    if flag is not None:
        entries = entries.where(_entry.result_flag == flag.value)
    if below is not None:
        entries = entries.where(_entry.seq < below)
    return entries


def old_entries(connection: Connection, before: datetime, limit: int) -> list[int]:
    """The numbers of up to `limit` entries last updated before a moment, oldest first.

    Entries are numbered in the order of their selections, so that the search ends with the first one that was selected
    after that moment.
    """
    found: list[int] = []
    last = 0
    columns = (_entry.seq, _entry.timestamp, _entry.updated_at)
    while len(found) < limit:
        statement = select(*columns).where(_entry.seq > last).order_by(_entry.seq).limit(_READ_AT_ONCE)
        rows = connection.execute(statement).all()
        found += [row.seq for row in rows if row.updated_at < before]
        if len(rows) < _READ_AT_ONCE or rows[-1].timestamp >= before:
            break
        last = rows[-1].seq
    return found[:limit]
