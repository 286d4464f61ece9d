"""`/lessons`: injecting and finding lessons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, cast

import msgspec

from application.learner.ports import LessonFilter
from domain.errors import AnswerErased, EmbedderMismatch, KeyReused, RequestInProgress, StoreUnavailable, UnknownLesson
from domain.learner.lesson import Bin, Lesson, Status
from domain.learner.log import LogEntry
from entrypoints.http import examples
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, address, answer
from entrypoints.http.identifiers import PAGED, Cursor, Limit, uuid_parameter
from entrypoints.http.lesson_wire import (
    DraftBody,
    HitAnswer,
    LessonAnswer,
    LogAnswer,
    Tag,
    shown,
    shown_entry,
    shown_hits,
)
from entrypoints.http.operation import Call, Route
from entrypoints.http.paging import page
from entrypoints.http.services import LearnerServices
from entrypoints.http.wire import Body

DRAFT = Body(DraftBody)
DRAFTS = Body(cast("type[list[DraftBody]]", Annotated[list[DraftBody], msgspec.Meta(min_length=1, max_length=1_000)]))

_ADDING = (AnswerErased, KeyReused, RequestInProgress, StoreUnavailable)

DEGRADED = "Memorygrid-Degraded"

_Text = Annotated[str, msgspec.Meta(max_length=10_000)]
_Bin = Annotated[Bin, msgspec.Meta(description="Only those of this bin.")]


class LessonParameters(msgspec.Struct, frozen=True):
    """An empty filter counts as absent; `q` is contained in title or body."""

    status: Annotated[Status, msgspec.Meta(description="Only those with this status.")] | None = None
    bin: _Bin | None = None
    tag: Annotated[Tag, msgspec.Meta(description="Only those with exactly this tag.")] | None = None
    q: Annotated[_Text, msgspec.Meta(description="Only those with this text in title or body.")] | None = None
    limit: Limit = 100
    cursor: Cursor | None = None


class LogParameters(msgspec.Struct, frozen=True):
    limit: Limit = 100
    cursor: Cursor | None = None


class SearchParameters(msgspec.Struct, frozen=True):
    q: Annotated[_Text, msgspec.Meta(min_length=1, description="What to search for: a problem, or words of a lesson.")]
    bin: _Bin | None = None
    top_k: Annotated[int, msgspec.Meta(ge=1, le=100, description="The most hits that the answer has.")] = 10


@Route(
    "POST",
    "/lessons",
    permission=Permission.REVIEW,
    body=DRAFT,
    answers=LessonAnswer,
    status=201,
    keyed=True,
    raises=_ADDING,
    headers={"Location": "Where the lesson is from now on."},
    example=examples.DRAFT,
    answer_example=examples.LESSON,
)
async def inject(services: LearnerServices, call: Call) -> Answer:
    """Injects a lesson; it waits for review

    It matches once somebody has approved or edited it.
    """
    body = await call.body(DRAFT)
    request = call.idempotency("/lessons", body, services.clock)
    added = await services.inject([body.draft()], actor=call.caller.name, request=request)
    location = f"{call.path.rstrip('/')}/{added[0].id}"
    return answer(shown(added[0]), status=201, headers=[(b"location", address(location))])


@Route(
    "POST",
    "/lessons/batch",
    permission=Permission.REVIEW,
    body=DRAFTS,
    answers=list[LessonAnswer],
    status=201,
    keyed=True,
    raises=_ADDING,
    example=[examples.DRAFT],
    answer_example=[examples.LESSON],
)
async def inject_batch(services: LearnerServices, call: Call) -> Answer:
    """Injects 1 to 1,000 lessons, all or none

    Where one is not of the documented shape, none is stored, and `errors` names each place.
    """
    bodies = await call.body(DRAFTS)
    request = call.idempotency("/lessons/batch", bodies, services.clock)
    added = await services.inject([one.draft() for one in bodies], actor=call.caller.name, request=request)
    return answer([shown(one) for one in added], status=201)


@Route(
    "GET",
    "/lessons",
    permission=Permission.READ,
    query=LessonParameters,
    answers=list[LessonAnswer],
    headers=PAGED,
    raises=[StoreUnavailable],
    answer_example=[examples.PROMOTED],
)
async def lessons(services: LearnerServices, call: Call) -> Answer:
    """Lessons, newest first

    All filters are optional and hold together. While there are more, the `Link` header leads to the next page.
    """
    parameters, given = call.query(LessonParameters)
    where = LessonFilter(status=parameters.status, bin=parameters.bin, tag=parameters.tag, text=parameters.q)

    async def read(limit: int, cursor: str | None) -> tuple[Sequence[Lesson], str | None]:
        found = await services.lessons.page(where, limit, cursor)
        return found.lessons, found.next_cursor

    return await page(call, parameters, given, read, shown)


@Route(
    "GET",
    "/lessons/search",
    permission=Permission.READ,
    query=SearchParameters,
    answers=list[HitAnswer],
    headers={DEGRADED: "Why similarities are missing, where they are: the hits are then text matches alone."},
    raises=[StoreUnavailable, EmbedderMismatch],
    answer_example=[examples.HIT],
)
async def search(services: LearnerServices, call: Call) -> Answer:
    """Promoted lessons that answer a query, best first

    A lesson whose title or body contains the query scores 1, any other its similarity.
    """
    parameters, _ = call.query(SearchParameters)
    result = await services.search(parameters.q, parameters.bin, parameters.top_k)
    headers = [] if result.degraded is None else [(DEGRADED.lower().encode(), _on_one_line(result.degraded))]
    return answer(shown_hits([found.hit for found in result.found]), headers=headers)


@Route(
    "GET",
    "/lessons/{lesson_id:str}",
    permission=Permission.READ,
    answers=LessonAnswer,
    raises=[UnknownLesson, StoreUnavailable],
    answer_example=examples.PROMOTED,
)
async def lesson(services: LearnerServices, call: Call) -> Answer:
    """One lesson

    The original, whatever its status. What matches is the copy that its last approval or edit has made.
    """
    return answer(shown(await services.lessons.get(uuid_parameter(call, "lesson_id", UnknownLesson))))


@Route(
    "GET",
    "/lessons/{lesson_id:str}/log",
    permission=Permission.READ,
    query=LogParameters,
    answers=list[LogAnswer],
    headers=PAGED,
    raises=[UnknownLesson, StoreUnavailable],
    answer_example=examples.LOG,
)
async def log(services: LearnerServices, call: Call) -> Answer:
    """What happened to a lesson, oldest first

    Injection, decisions, flags and escalations, each with its moment and by whose key. While there are more, the `Link`
    header leads to the next page.
    """
    lesson_id = uuid_parameter(call, "lesson_id", UnknownLesson)
    parameters, given = call.query(LogParameters)

    async def read(limit: int, cursor: str | None) -> tuple[Sequence[LogEntry], str | None]:
        found = await services.lessons.log_page(lesson_id, limit, cursor)
        return found.entries, found.next_cursor

    return await page(call, parameters, given, read, shown_entry)


def _on_one_line(text: str) -> bytes:
    """As a header may say it."""
    return re.sub(r"[^ -~]+", " ", text).strip()[:500].encode("ascii")


OPERATIONS = (inject, inject_batch, lessons, search, lesson, log)
