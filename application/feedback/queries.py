"""Reading feedback: the metrics, overall and per lesson."""

from __future__ import annotations

import msgspec

from application.feedback.ports import FeedbackStore
from domain.feedback.metrics import Usage, total, usage


class UsageMetrics(msgspec.Struct, frozen=True, kw_only=True):
    by_lesson: dict[str, Usage]
    overall: Usage


class RateMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of the decided entries, rounded to 3 places; null where none is decided."""

    by_lesson: dict[str, float | None]
    overall: float | None


class ReadMetrics:
    """Usage and rates from the counters, in O(lessons). Raises `StoreUnavailable`."""

    def __init__(self, *, store: FeedbackStore) -> None:
        self._store = store

    async def __call__(self, lesson_id: str | None = None) -> UsageMetrics:
        counters = await self._store.counters(lesson_id)
        return UsageMetrics(
            by_lesson={one: usage(of_one) for one, of_one in counters.items()}, overall=usage(total(counters.values()))
        )

    async def success_rate(self, lesson_id: str | None = None) -> RateMetrics:
        found = await self(lesson_id)
        by_lesson = {one: of_one.success_rate for one, of_one in found.by_lesson.items()}
        return RateMetrics(by_lesson=by_lesson, overall=found.overall.success_rate)

    async def failure_rate(self, lesson_id: str | None = None) -> RateMetrics:
        found = await self(lesson_id)
        by_lesson = {one: of_one.failure_rate for one, of_one in found.by_lesson.items()}
        return RateMetrics(by_lesson=by_lesson, overall=found.overall.failure_rate)
