"""Feedback entries and escalations as rows, and back."""

from __future__ import annotations

from datetime import datetime

import msgspec
from sqlalchemy import RowMapping

from domain.feedback.entry import FeedbackEntry
from domain.feedback.escalation import Escalation
from domain.feedback.metrics import Counters

_Row = dict[str, object]


def entry_row(entry: FeedbackEntry) -> _Row:
    row = msgspec.structs.asdict(entry)
    row["result_flag"] = entry.result_flag.value
    row["failure_class"] = entry.failure_class.value if entry.failure_class else None
    return row


def entry_of(row: RowMapping) -> FeedbackEntry:
    return msgspec.convert({name: row[name] for name in FeedbackEntry.__struct_fields__}, FeedbackEntry)


def outbox_row(escalation: Escalation, owner: str, leased_until: datetime | None) -> _Row:
    """A new row of the outbox; without a lease it is anybody's to deliver."""
    row = msgspec.structs.asdict(escalation)
    row["path"] = escalation.path.value
    row["state"] = escalation.state.value
    row["lease_owner"] = owner if leased_until else None
    row["lease_until"] = leased_until
    return row


def escalation_of(row: RowMapping) -> Escalation:
    return msgspec.convert({name: row[name] for name in Escalation.__struct_fields__}, Escalation)


def counters_of(row: RowMapping) -> Counters:
    return msgspec.convert({name: int(row[name]) for name in Counters.__struct_fields__}, Counters)
