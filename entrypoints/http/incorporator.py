"""`/incorporator`: what an agent's pipeline calls at its step, and what would be matched and was not."""

from __future__ import annotations

from typing import Annotated

import msgspec

from application.feedback.ports import Miss
from application.incorporator.explain import Explanation
from domain.errors import (
    EmbedderUnavailable,
    KeyReused,
    NoMatch,
    NoSelection,
    Overloaded,
    RequestInProgress,
    StoreUnavailable,
    VectorsUnavailable,
)
from domain.feedback.entry import FeedbackEntry, OutcomeReport
from domain.incorporator.outcome import ApplierOutcome
from domain.incorporator.query import QueryInput
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, answer
from entrypoints.http.operation import Call, operation
from entrypoints.http.services import IncorporatorServices
from entrypoints.http.wire import Body

QUERY_BODY = Body(QueryInput)
OUTCOME_BODY = Body(OutcomeReport)


class MatchParameters(msgspec.Struct, frozen=True):
    """`llm`: ask the language model too, as an invoke would."""

    llm: bool = False


class MissParameters(msgspec.Struct, frozen=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 100


@operation(
    "POST",
    "/incorporator/invoke",
    permission=Permission.USE,
    body=QUERY_BODY,
    answers=ApplierOutcome,
    keyed=True,
    raises=[NoMatch, KeyReused, RequestInProgress, Overloaded, StoreUnavailable, VectorsUnavailable],
    example={
        "session_id": "s1",
        "problem_solving_step_ref": "step-17",
        "problem_type": "flaky_upload",
        "current_task_context": {"operation": "upload report.pdf"},
        "system_state": {"storage_status": "degraded"},
        "additional_caller_data": {},
    },
)
async def invoke(services: IncorporatorServices, call: Call) -> Answer:
    """What to do about a problem, by the lesson that applies

    The pipeline executes `action` and `instruction`, then reports how it went. Where no promoted lesson applies, the
    answer is 404: go on as you would without one.
    """
    query = await call.body(QUERY_BODY)
    request = call.idempotency("/incorporator/invoke", query, services.clock)
    return answer(await services.invoke(query, request))


@operation(
    "POST",
    "/incorporator/outcome",
    permission=Permission.USE,
    body=OUTCOME_BODY,
    answers=FeedbackEntry,
    keyed=True,
    raises=[NoSelection, KeyReused, RequestInProgress, Overloaded, StoreUnavailable],
    example={"problem_solving_step_ref": "step-17", "session_id": "s1", "result_flag": "failure"},
)
async def outcome(services: IncorporatorServices, call: Call) -> Answer:
    """How a step went

    Updates the latest selection of this step and session, or exactly the one that `outcome_id` (the `id` that invoke
    answered) names. A lesson that keeps failing escalates.
    """
    report = await call.body(OUTCOME_BODY)
    request = call.idempotency("/incorporator/outcome", report, services.clock)
    return answer(await services.report(report, request))


@operation(
    "POST",
    "/incorporator/match",
    permission=Permission.USE,
    body=QUERY_BODY,
    query=MatchParameters,
    answers=Explanation,
    raises=[StoreUnavailable, EmbedderUnavailable],
    example={"session_id": "s1", "problem_solving_step_ref": "step-17", "problem_type": "flaky_upload"},
)
async def match(services: IncorporatorServices, call: Call) -> Answer:
    """What would be matched, and why

    A dry run: it records nothing and asks no language model unless `llm=true`.
    """
    parameters, _ = call.query(MatchParameters)
    query = await call.body(QUERY_BODY)
    return answer(await services.explain(query, with_llm=parameters.llm))


@operation(
    "GET",
    "/incorporator/misses",
    permission=Permission.READ_FEEDBACK,
    query=MissParameters,
    answers=list[Miss],
    raises=[StoreUnavailable],
)
async def misses(services: IncorporatorServices, call: Call) -> Answer:
    """The problem types that found no match, most frequent first: the lessons that are worth writing"""
    parameters, _ = call.query(MissParameters)
    return answer(await services.misses.most_frequent(parameters.limit))


OPERATIONS = (invoke, outcome, match, misses)
