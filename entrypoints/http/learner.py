"""`/lessons`: injecting and finding lessons."""

from __future__ import annotations

from typing import Annotated, cast

import msgspec

from application.learner.ports import LessonFilter
from domain.errors import KeyReused, RequestInProgress, StoreUnavailable, UnknownLesson
from domain.learner.lesson import Bin, Status
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, answer, page
from entrypoints.http.identifiers import Cursor, uuid_parameter
from entrypoints.http.lesson_wire import (
    DraftBody,
    HitAnswer,
    LessonAnswer,
    LogAnswer,
    Tag,
    shown,
    shown_hits,
    shown_log,
)
from entrypoints.http.operation import Call, operation
from entrypoints.http.services import LearnerServices
from entrypoints.http.wire import Body

DRAFT = Body(DraftBody)
DRAFTS = Body(cast("type[list[DraftBody]]", Annotated[list[DraftBody], msgspec.Meta(min_length=1, max_length=1_000)]))

_ADDING = (KeyReused, RequestInProgress, StoreUnavailable)

_Text = Annotated[str, msgspec.Meta(max_length=10_000)]


class LessonParameters(msgspec.Struct, frozen=True):
    """An empty filter counts as absent; `q` is contained in title or body."""

    status: Status | None = None
    bin: Bin | None = None
    tag: Tag | None = None
    q: _Text | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 100
    cursor: Cursor | None = None


class SearchParameters(msgspec.Struct, frozen=True):
    q: _Text
    bin: Bin | None = None
    top_k: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10


@operation(
    "POST",
    "/lessons",
    permission=Permission.REVIEW,
    body=DRAFT,
    answers=LessonAnswer,
    status=201,
    keyed=True,
    raises=_ADDING,
    example={
        "bin": "skills_base",
        "title": "Retry uploads with backoff",
        "body": "When an upload fails because storage is degraded, retry it with exponential backoff.",
        "dsl_payload": {"action": "retry_with_backoff", "instruction_template": "Retry {operation} with backoff"},
    },
)
async def inject(services: LearnerServices, call: Call) -> Answer:
    """Injects a lesson; it waits for review"""
    body = await call.body(DRAFT)
    request = call.idempotency("/lessons", body, services.clock)
    added = await services.inject([body.draft()], actor=call.caller.name, request=request)
    return answer(shown(added[0]), status=201)


@operation(
    "POST",
    "/lessons/batch",
    permission=Permission.REVIEW,
    body=DRAFTS,
    answers=list[LessonAnswer],
    status=201,
    keyed=True,
    raises=_ADDING,
    example=[{"bin": "knowledge_base", "title": "Pricing tiers", "body": "Basic, team and enterprise."}],
)
async def inject_batch(services: LearnerServices, call: Call) -> Answer:
    """Injects 1 to 1,000 lessons, all or none"""
    bodies = await call.body(DRAFTS)
    request = call.idempotency("/lessons/batch", bodies, services.clock)
    added = await services.inject([one.draft() for one in bodies], actor=call.caller.name, request=request)
    return answer([shown(one) for one in added], status=201)


@operation(
    "GET",
    "/lessons",
    permission=Permission.READ,
    query=LessonParameters,
    answers=list[LessonAnswer],
    raises=[StoreUnavailable],
)
async def lessons(services: LearnerServices, call: Call) -> Answer:
    """Lessons, newest first

    All filters are optional. While there are more, the `Link` header leads to the next page.
    """
    parameters, given = call.query(LessonParameters)
    where = LessonFilter(status=parameters.status, bin=parameters.bin, tag=parameters.tag, text=parameters.q)
    found = await services.lessons.page(where, parameters.limit, parameters.cursor)
    return page([shown(one) for one in found.lessons], call.path, given, found.next_cursor)


@operation(
    "GET",
    "/lessons/search",
    permission=Permission.READ,
    query=SearchParameters,
    answers=list[HitAnswer],
    raises=[StoreUnavailable],
)
async def search(services: LearnerServices, call: Call) -> Answer:
    """Promoted lessons that answer a query, best first"""
    parameters, _ = call.query(SearchParameters)
    result = await services.search(parameters.q, parameters.bin, parameters.top_k)
    return answer(shown_hits([found.hit for found in result.found]))


@operation(
    "GET",
    "/lessons/{lesson_id:str}",
    permission=Permission.READ,
    answers=LessonAnswer,
    raises=[UnknownLesson, StoreUnavailable],
)
async def lesson(services: LearnerServices, call: Call) -> Answer:
    """One lesson"""
    return answer(shown(await services.lessons.get(uuid_parameter(call, "lesson_id", UnknownLesson))))


@operation(
    "GET",
    "/lessons/{lesson_id:str}/log",
    permission=Permission.READ,
    answers=list[LogAnswer],
    raises=[UnknownLesson, StoreUnavailable],
)
async def log(services: LearnerServices, call: Call) -> Answer:
    """What happened to a lesson, oldest first"""
    return answer(shown_log(await services.lessons.log(uuid_parameter(call, "lesson_id", UnknownLesson))))


OPERATIONS = (inject, inject_batch, lessons, search, lesson, log)
