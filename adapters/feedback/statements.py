"""The statements that every selection and every report goes through."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, insert, literal_column, or_, select, union_all, update

from adapters.sql.dialects import upserting
from adapters.sql.statements import Lookup, Prepared, key_name
from adapters.sql.tables import feedback_entries, lesson_counters
from domain.feedback.entry import FeedbackEntry
from domain.feedback.metrics import Counters

#: The columns of an entry, in the order of its fields.
ENTRY_FIELDS = FeedbackEntry.__struct_fields__
#: What a report changes of its entry.
REPORTED_FIELDS = ("result_flag", "usage_count", "updated_at", "failure_class", "detail", "failures_seen")
ROUND_FIELDS = ("lesson_id", "review_round")
COUNTER_FIELDS = Counters.__struct_fields__

_entry = feedback_entries.c
_counter = lesson_counters.c


def _of_outcomes(count: int) -> Select[Any]:
    keys = [bindparam(key_name(number), type_=_entry.transaction_log_ref.type) for number in range(count)]
    return select(_entry.seq, _entry.transaction_log_ref).where(_entry.transaction_log_ref.in_(keys))


def _of_steps(count: int) -> Select[Any]:
    """For each step the look-up of its last row in the index; a maximum over all of its rows would read them all."""
    steps = union_all(
        *(
            select(
                bindparam(key_name(number, 0), type_=_entry.session_id.type).label("session_id"),
                bindparam(key_name(number, 1), type_=_entry.problem_solving_step_ref.type).label("step"),
            )
            for number in range(count)
        )
    ).subquery("steps")
    of_step = (_entry.session_id == steps.c.session_id) & (_entry.problem_solving_step_ref == steps.c.step)
    last = select(_entry.seq).where(of_step).order_by(_entry.seq.desc()).limit(literal_column("1"))
    return select(last.correlate(steps).scalar_subquery(), steps.c.session_id, steps.c.step)


def _of_numbers(count: int) -> Select[Any]:
    keys = [bindparam(key_name(number), type_=_entry.seq.type) for number in range(count)]
    columns = [_entry[name] for name in ENTRY_FIELDS]
    return select(_entry.seq, *columns).where(_entry.seq.in_(keys)).order_by(_entry.seq).with_for_update()


def _of_rounds(count: int) -> Select[Any]:
    rounds = (
        (_counter.lesson_id == bindparam(key_name(number, 0), type_=_counter.lesson_id.type))
        & (_counter.review_round == bindparam(key_name(number, 1), type_=_counter.review_round.type))
        for number in range(count)
    )
    columns = [_counter[name] for name in (*ROUND_FIELDS, *COUNTER_FIELDS)]
    return select(*columns).where(or_(*rounds))


INSERT_ENTRIES = Prepared(lambda _: insert(feedback_entries).inline(), ENTRY_FIELDS)
UPDATE_ENTRIES = Prepared(
    lambda _: (
        update(feedback_entries)
        .where(_entry.seq == bindparam("number"))
        .values({name: bindparam(f"new_{name}", type_=_entry[name].type) for name in REPORTED_FIELDS})
    ),
    ["number", *(f"new_{name}" for name in REPORTED_FIELDS)],
)
ADD_COUNTERS = Prepared(
    lambda dialect: upserting(dialect, lesson_counters, ROUND_FIELDS, COUNTER_FIELDS), [*ROUND_FIELDS, *COUNTER_FIELDS]
)

#: By outcome id: an entry's number, and the id again.
NUMBERS_OF_OUTCOMES = Lookup(_of_outcomes)
#: By session and step: the number of the latest entry (None: there is none), and both again.
NUMBERS_OF_STEPS = Lookup(_of_steps, width=2)
#: By number: the number and the entry's fields; where the engine has row locks, the rows are locked in their order.
ENTRIES = Lookup(_of_numbers)
#: By lesson and review round: both again, and the counters.
COUNTERS = Lookup(_of_rounds, width=2)
