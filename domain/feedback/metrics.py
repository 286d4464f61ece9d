"""Counters and rates. Counters move with the very transaction of an invoke or an outcome, so they equal a recount."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from domain.feedback.entry import FailureClass, FeedbackEntry, ResultFlag


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """How often a lesson was used (selections and reports), and how many of its entries stand at each flag.

    `lesson_failures` is the part of `failure` that counts towards escalation.
    """

    usage_count: int = 0
    success: int = 0
    failure: int = 0
    pending: int = 0
    lesson_failures: int = 0

    def __add__(self, other: Counters) -> Counters:
        return Counters(
            usage_count=self.usage_count + other.usage_count,
            success=self.success + other.success,
            failure=self.failure + other.failure,
            pending=self.pending + other.pending,
            lesson_failures=self.lesson_failures + other.lesson_failures,
        )

    def __sub__(self, other: Counters) -> Counters:
        return Counters(
            usage_count=self.usage_count - other.usage_count,
            success=self.success - other.success,
            failure=self.failure - other.failure,
            pending=self.pending - other.pending,
            lesson_failures=self.lesson_failures - other.lesson_failures,
        )


def counted(entry: FeedbackEntry) -> Counters:
    """What one entry contributes to its lesson's counters."""
    return Counters(
        usage_count=entry.usage_count,
        success=int(entry.result_flag is ResultFlag.SUCCESS),
        failure=int(entry.result_flag is ResultFlag.FAILURE),
        pending=int(entry.result_flag is ResultFlag.PENDING),
        lesson_failures=int(entry.result_flag is ResultFlag.FAILURE and entry.failure_class is FailureClass.LESSON),
    )


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """As `GET /feedback/metrics/usage` answers it. Rates are of the decided entries, rounded to 3 places."""

    usage_count: int
    success: int
    failure: int
    pending: int
    success_rate: float | None
    failure_rate: float | None


def usage(counters: Counters) -> Usage:
    return Usage(
        usage_count=counters.usage_count,
        success=counters.success,
        failure=counters.failure,
        pending=counters.pending,
        success_rate=_rate(counters.success, counters),
        failure_rate=_rate(counters.failure, counters),
    )


def total(counters: Iterable[Counters]) -> Counters:
    return sum(counters, start=Counters())


def _rate(part: int, counters: Counters) -> float | None:
    decided = counters.success + counters.failure
    return round(part / decided, 3) if decided else None
