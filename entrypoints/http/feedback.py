"""`/feedback`: the entries, and the metrics over them."""

from __future__ import annotations

from typing import Annotated

import msgspec

from application.feedback.ports import EntryFilter
from application.feedback.queries import RateMetrics, UsageMetrics
from domain.errors import StoreUnavailable, UnknownEntry
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.values import CallerId
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, answer, page
from entrypoints.http.identifiers import Cursor, uuid_parameter
from entrypoints.http.operation import Call, operation
from entrypoints.http.services import IncorporatorServices


class EntryParameters(msgspec.Struct, frozen=True):
    """An empty filter counts as absent."""

    lesson_skill_id: CallerId | None = None
    session_id: CallerId | None = None
    result_flag: ResultFlag | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 100
    cursor: Cursor | None = None


class MetricParameters(msgspec.Struct, frozen=True):
    lesson_skill_id: CallerId | None = None


@operation(
    "GET",
    "/feedback",
    permission=Permission.READ_FEEDBACK,
    query=EntryParameters,
    answers=list[FeedbackEntry],
    raises=[StoreUnavailable],
)
async def entries(services: IncorporatorServices, call: Call) -> Answer:
    """Feedback entries, newest first

    All filters are optional. While there are more, the `Link` header leads to the next page.
    """
    parameters, given = call.query(EntryParameters)
    where = EntryFilter(
        lesson_skill_id=parameters.lesson_skill_id,
        session_id=parameters.session_id,
        result_flag=parameters.result_flag,
    )
    found = await services.feedback.page(where, parameters.limit, parameters.cursor)
    return page(found.entries, call.path, given, found.next_cursor)


@operation(
    "GET",
    "/feedback/{entry_id:str}",
    permission=Permission.READ_FEEDBACK,
    answers=FeedbackEntry,
    raises=[UnknownEntry, StoreUnavailable],
)
async def entry(services: IncorporatorServices, call: Call) -> Answer:
    """One feedback entry"""
    return answer(await services.feedback.get(uuid_parameter(call, "entry_id", UnknownEntry)))


@operation(
    "GET",
    "/feedback/metrics/usage",
    permission=Permission.READ_FEEDBACK,
    query=MetricParameters,
    answers=UsageMetrics,
    raises=[StoreUnavailable],
)
async def usage(services: IncorporatorServices, call: Call) -> Answer:
    """Usage and success, failure and pending counts, overall and per lesson"""
    parameters, _ = call.query(MetricParameters)
    return answer(await services.metrics(parameters.lesson_skill_id))


@operation(
    "GET",
    "/feedback/metrics/success-rate",
    permission=Permission.READ_FEEDBACK,
    query=MetricParameters,
    answers=RateMetrics,
    raises=[StoreUnavailable],
)
async def success_rate(services: IncorporatorServices, call: Call) -> Answer:
    """The rate of successes among the decided entries, overall and per lesson"""
    parameters, _ = call.query(MetricParameters)
    return answer(await services.metrics.success_rate(parameters.lesson_skill_id))


@operation(
    "GET",
    "/feedback/metrics/failure-rate",
    permission=Permission.READ_FEEDBACK,
    query=MetricParameters,
    answers=RateMetrics,
    raises=[StoreUnavailable],
)
async def failure_rate(services: IncorporatorServices, call: Call) -> Answer:
    """The rate of failures among the decided entries, overall and per lesson"""
    parameters, _ = call.query(MetricParameters)
    return answer(await services.metrics.failure_rate(parameters.lesson_skill_id))


OPERATIONS = (entries, entry, usage, success_rate, failure_rate)
