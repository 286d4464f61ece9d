"""Feedback entries and escalations as rows, and back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import RowMapping

from domain.feedback.entry import FailureClass, FeedbackEntry, ResultFlag
from domain.feedback.escalation import Escalation
from domain.feedback.metrics import Counters

#: Values by their columns' names.
Row = dict[str, object]

_FLAGS: dict[str, ResultFlag] = {flag.value: flag for flag in ResultFlag}
_CLASSES: dict[str | None, FailureClass | None] = {None: None, **{one.value: one for one in FailureClass}}


def entry_row(entry: FeedbackEntry) -> Row:
    """The columns of an entry, in the order of its fields."""
    row = msgspec.structs.asdict(entry)
    row["result_flag"] = entry.result_flag.value
    row["failure_class"] = entry.failure_class.value if entry.failure_class else None
    return row


def entry_of(values: Sequence[Any]) -> FeedbackEntry:
    """The entry whose fields these are, in their order."""
    row = dict(zip(FeedbackEntry.__struct_fields__, values, strict=True))
    row["result_flag"] = _FLAGS[row["result_flag"]]
    row["failure_class"] = _CLASSES[row["failure_class"]]
    return FeedbackEntry(**row)


def reported_values(entry: FeedbackEntry) -> Sequence[Any]:
    """What a report changes of its entry, in the order of `statements.REPORTED_FIELDS`."""
    failure_class = entry.failure_class.value if entry.failure_class else None
    return (
        entry.result_flag.value,
        entry.usage_count,
        entry.updated_at,
        failure_class,
        entry.detail,
        entry.failures_seen,
    )


def outbox_row(escalation: Escalation, owner: str, leased_until: datetime | None) -> Row:
    """A new row of the outbox; without a lease it is anybody's to deliver."""
    row = msgspec.structs.asdict(escalation)
    row["path"] = escalation.path.value
    row["state"] = escalation.state.value
    row["lease_owner"] = owner if leased_until else None
    row["lease_until"] = leased_until
    return row


def escalation_of(row: RowMapping) -> Escalation:
    return msgspec.convert({name: row[name] for name in Escalation.__struct_fields__}, Escalation)


def counters_of(values: Sequence[Any]) -> Counters:
    """The counters whose fields these are, in their order."""
    return Counters(**dict(zip(Counters.__struct_fields__, values, strict=True)))
