"""The counters of lessons and review rounds: rows that move with the transaction of a selection or a report."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection

from adapters.feedback.rows import counters_of
from adapters.feedback.statements import ADD_COUNTERS, COUNTERS
from domain.feedback.entry import FeedbackEntry
from domain.feedback.metrics import Counters

#: A lesson's id and the number of its review round.
Round = tuple[str, int]


def round_of(entry: FeedbackEntry) -> Round:
    return entry.lesson_skill_id, entry.review_round


def add_to_counters(connection: Connection, changes: Iterable[tuple[FeedbackEntry, Counters]]) -> None:
    """Adds the changes to their rows (`n = n + change`), in the order of the lessons' ids."""
    sums: dict[Round, Counters] = {}
    for entry, change in changes:
        of = round_of(entry)
        sums[of] = sums[of] + change if of in sums else change
    if sums:
        ADD_COUNTERS.run_many(connection, [(*of, *msgspec.structs.astuple(sums[of])) for of in sorted(sums)])


def counters(connection: Connection, rounds: Iterable[Round]) -> dict[Round, Counters]:
    """The counters as this transaction has just written them; it holds their rows' locks until it commits."""
    wanted = sorted(set(rounds))
    return {(row[0], row[1]): counters_of(row[2:]) for row in COUNTERS.fetch(connection, wanted)}
