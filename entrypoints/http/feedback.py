"""`/feedback`: the entries, and the metrics over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from application.feedback.ports import EntryFilter
from application.feedback.queries import RateMetrics, UsageMetrics
from domain.errors import StoreUnavailable, UnknownEntry
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.values import CallerId
from entrypoints.http import examples
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, answer
from entrypoints.http.identifiers import PAGED, Cursor, Limit, uuid_parameter
from entrypoints.http.operation import Call, Route
from entrypoints.http.paging import page
from entrypoints.http.services import IncorporatorServices

LessonId = Annotated[CallerId, msgspec.Meta(description="Only what this lesson has brought about.")]


class EntryParameters(msgspec.Struct, frozen=True):
    """An empty filter counts as absent."""

    lesson_skill_id: LessonId | None = None
    session_id: Annotated[CallerId, msgspec.Meta(description="Only those of this pipeline session.")] | None = None
    result_flag: Annotated[ResultFlag, msgspec.Meta(description="Only those that stand at this flag.")] | None = None
    limit: Limit = 100
    cursor: Cursor | None = None


class MetricParameters(msgspec.Struct, frozen=True):
    """One that is unknown gives no lessons, and no error."""

    lesson_skill_id: LessonId | None = None


@Route(
    "GET",
    "/feedback",
    permission=Permission.READ_FEEDBACK,
    query=EntryParameters,
    answers=list[FeedbackEntry],
    headers=PAGED,
    raises=[StoreUnavailable],
    answer_example=[examples.ENTRY],
)
async def entries(services: IncorporatorServices, call: Call) -> Answer:
    """Feedback entries, newest first

    All filters are optional and hold together. While there are more, the `Link` header leads to the next page.
    """
    parameters, given = call.query(EntryParameters)
    where = EntryFilter(
        lesson_skill_id=parameters.lesson_skill_id,
        session_id=parameters.session_id,
        result_flag=parameters.result_flag,
    )

    async def read(limit: int, cursor: str | None) -> tuple[Sequence[FeedbackEntry], str | None]:
        found = await services.feedback.page(where, limit, cursor)
        return found.entries, found.next_cursor

    return await page(call, parameters, given, read, lambda entry: entry)


@Route(
    "GET",
    "/feedback/{entry_id:str}",
    permission=Permission.READ_FEEDBACK,
    answers=FeedbackEntry,
    raises=[UnknownEntry, StoreUnavailable],
    answer_example=examples.ENTRY,
)
async def entry(services: IncorporatorServices, call: Call) -> Answer:
    """One feedback entry

    What was selected for which step, and what became of it as of the last report.
    """
    return answer(await services.feedback.get(uuid_parameter(call, "entry_id", UnknownEntry)))


@Route(
    "GET",
    "/feedback/metrics/usage",
    permission=Permission.READ_FEEDBACK,
    query=MetricParameters,
    answers=UsageMetrics,
    raises=[StoreUnavailable],
    answer_example=examples.USAGE,
)
async def usage(services: IncorporatorServices, call: Call) -> Answer:
    """Usage and success, failure and pending counts, overall and per lesson

    Entries that were deleted for their age (`MG_FEEDBACK_RETENTION_DAYS`) stay counted.
    """
    parameters, _ = call.query(MetricParameters)
    return answer(await services.metrics(parameters.lesson_skill_id))


@Route(
    "GET",
    "/feedback/metrics/success-rate",
    permission=Permission.READ_FEEDBACK,
    query=MetricParameters,
    answers=RateMetrics,
    raises=[StoreUnavailable],
    answer_example=examples.SUCCESS_RATE,
)
async def success_rate(services: IncorporatorServices, call: Call) -> Answer:
    """The rate of successes among the decided entries, overall and per lesson

    An entry is decided once an outcome was reported; the last report counts.
    """
    parameters, _ = call.query(MetricParameters)
    return answer(await services.metrics.success_rate(parameters.lesson_skill_id))


@Route(
    "GET",
    "/feedback/metrics/failure-rate",
    permission=Permission.READ_FEEDBACK,
    query=MetricParameters,
    answers=RateMetrics,
    raises=[StoreUnavailable],
    answer_example=examples.FAILURE_RATE,
)
async def failure_rate(services: IncorporatorServices, call: Call) -> Answer:
    """The rate of failures among the decided entries, overall and per lesson

    An entry is decided once an outcome was reported; the last report counts.
    """
    parameters, _ = call.query(MetricParameters)
    return answer(await services.metrics.failure_rate(parameters.lesson_skill_id))


OPERATIONS = (entries, entry, usage, success_rate, failure_rate)
