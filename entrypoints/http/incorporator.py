"""`/incorporator`: what an agent's pipeline calls at its step, and what would be matched and was not."""

from __future__ import annotations

from typing import Annotated

import msgspec

from application.feedback.ports import Miss
from application.incorporator.explain import Explanation
from domain.errors import (
    AnswerErased,
    EmbedderMismatch,
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
from entrypoints.http import examples
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, answer
from entrypoints.http.identifiers import Limit
from entrypoints.http.operation import Call, Route
from entrypoints.http.services import IncorporatorServices
from entrypoints.http.wire import Body

QUERY_BODY = Body(QueryInput)
OUTCOME_BODY = Body(OutcomeReport)

_SEARCHING = (StoreUnavailable, VectorsUnavailable, EmbedderUnavailable, EmbedderMismatch)


class MatchParameters(msgspec.Struct, frozen=True):
    """`llm`: ask the language model too, as an invoke would."""

    llm: Annotated[bool, msgspec.Meta(description="Ask the language model too, as an invoke would.")] = False


class MissParameters(msgspec.Struct, frozen=True):
    limit: Limit = 100


@Route(
    "POST",
    "/incorporator/invoke",
    permission=Permission.USE,
    body=QUERY_BODY,
    answers=ApplierOutcome,
    keyed=True,
    raises=[NoMatch, AnswerErased, KeyReused, RequestInProgress, Overloaded, *_SEARCHING],
    example=examples.QUERY,
    answer_example=examples.OUTCOME,
)
async def invoke(services: IncorporatorServices, call: Call) -> Answer:
    """What to do about a problem, by the lesson that applies

    The pipeline executes `action` and `instruction`, then reports how it went. Where no promoted lesson applies, the
    answer is 404: go on as you would without one.
    """
    query = await call.body(QUERY_BODY)
    request = call.idempotency("/incorporator/invoke", query, services.clock)
    return answer(await services.invoke(query, request))


@Route(
    "POST",
    "/incorporator/outcome",
    permission=Permission.USE,
    body=OUTCOME_BODY,
    answers=FeedbackEntry,
    keyed=True,
    raises=[NoSelection, KeyReused, RequestInProgress, Overloaded, StoreUnavailable],
    example=examples.REPORT,
    answer_example=examples.ENTRY,
)
async def outcome(services: IncorporatorServices, call: Call) -> Answer:
    """How a step went

    Updates the latest selection of this step and session, or exactly the one that `outcome_id` (the `id` that invoke
    answered) names. A lesson that keeps failing escalates.
    """
    report = await call.body(OUTCOME_BODY)
    request = call.idempotency("/incorporator/outcome", report, services.clock)
    return answer(await services.report(report, request))


@Route(
    "POST",
    "/incorporator/match",
    permission=Permission.USE,
    body=QUERY_BODY,
    query=MatchParameters,
    answers=Explanation,
    raises=_SEARCHING,
    example=examples.QUERY,
    answer_example=examples.EXPLANATION,
)
async def match(services: IncorporatorServices, call: Call) -> Answer:
    """What would be matched, and why

    A dry run: it records nothing and asks no language model unless `llm=true`.
    """
    parameters, _ = call.query(MatchParameters)
    query = await call.body(QUERY_BODY)
    return answer(await services.explain(query, with_llm=parameters.llm))


@Route(
    "GET",
    "/incorporator/misses",
    permission=Permission.READ_FEEDBACK,
    query=MissParameters,
    answers=list[Miss],
    raises=[StoreUnavailable],
    answer_example=[examples.MISS],
)
async def misses(services: IncorporatorServices, call: Call) -> Answer:
    """The problem types that found no match, most frequent first: the lessons that are worth writing

    Each `problem_type` of an invoke that was answered 404, with how often and when last.
    """
    parameters, _ = call.query(MissParameters)
    return answer(await services.misses.most_frequent(parameters.limit))


OPERATIONS = (invoke, outcome, match, misses)
