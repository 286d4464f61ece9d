"""`/lessons/review/queue`, and what people decide about a lesson."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from application.learner.review import ReviewCommand
from domain.errors import DecisionNotAllowed, StaleVersion, StoreUnavailable, UnknownLesson
from domain.learner.lesson import Decision, Lesson, LessonEdit
from domain.learner.log import QueuedLesson
from entrypoints.http import examples
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, answer, nothing
from entrypoints.http.identifiers import PAGED, Cursor, Limit, uuid_parameter
from entrypoints.http.lesson_wire import DecisionBody, EditBody, LessonAnswer, QueueItem, queue_item, shown
from entrypoints.http.operation import Call, Route
from entrypoints.http.paging import page
from entrypoints.http.services import LearnerServices
from entrypoints.http.wire import Body

DECISION = Body(DecisionBody, default=DecisionBody())
EDIT = Body(EditBody, default=EditBody())


class QueueParameters(msgspec.Struct, frozen=True):
    limit: Limit = 1_000
    cursor: Cursor | None = None


_DECIDING = (UnknownLesson, StaleVersion, DecisionNotAllowed, StoreUnavailable)


@Route(
    "GET",
    "/lessons/review/queue",
    permission=Permission.READ,
    query=QueueParameters,
    answers=list[QueueItem],
    headers=PAGED,
    raises=[StoreUnavailable],
    answer_example=[examples.FLAGGED],
)
async def review_queue(services: LearnerServices, call: Call) -> Answer:
    """The lessons that await review, longest waiting first, each with the reason

    While there are more, the `Link` header leads to the next page.
    """
    parameters, given = call.query(QueueParameters)

    async def read(limit: int, cursor: str | None) -> tuple[Sequence[tuple[Lesson, QueuedLesson]], str | None]:
        found = await services.lessons.queue(limit, cursor)
        return found.waiting, found.next_cursor

    return await page(call, parameters, given, read, lambda one: queue_item(*one))


@Route(
    "POST",
    "/lessons/{lesson_id:str}/approve",
    permission=Permission.REVIEW,
    body=DECISION,
    answers=LessonAnswer,
    raises=_DECIDING,
    example={"reviewer": "ann", "note": "checked"},
    answer_example=examples.PROMOTED,
)
async def approve(services: LearnerServices, call: Call) -> Answer:
    """Promotes a lesson: from now on it matches

    Its content is copied as it is, and a review round begins, in which failures are counted anew.
    """
    return await _decided(services, call, Decision.APPROVE, await call.body(DECISION))


@Route(
    "POST",
    "/lessons/{lesson_id:str}/edit",
    permission=Permission.REVIEW,
    body=EDIT,
    answers=LessonAnswer,
    raises=_DECIDING,
    example={"title": "Retry uploads with exponential backoff", "reviewer": "ann", "version": 1},
    answer_example=examples.EDITED,
)
async def edit(services: LearnerServices, call: Call) -> Answer:
    """Changes a lesson and promotes it

    What is left out stays. A review round begins, in which failures are counted anew.
    """
    body = await call.body(EDIT)
    decision = DecisionBody(reviewer=body.reviewer, note=body.note, version=body.version)
    return await _decided(services, call, Decision.EDIT, decision, body.edit())


@Route(
    "POST",
    "/lessons/{lesson_id:str}/reject",
    permission=Permission.REVIEW,
    body=DECISION,
    answers=LessonAnswer,
    raises=_DECIDING,
    example={"reviewer": "ann", "note": "too vague"},
    answer_example=examples.REJECTED,
)
async def reject(services: LearnerServices, call: Call) -> Answer:
    """Turns a lesson down: it matches no more

    The lesson stays, and an edit can bring it back.
    """
    return await _decided(services, call, Decision.REJECT, await call.body(DECISION))


@Route(
    "POST",
    "/lessons/{lesson_id:str}/disable",
    permission=Permission.REVIEW,
    body=DECISION,
    answers=LessonAnswer,
    raises=_DECIDING,
    example={"reviewer": "ann", "note": "fails since the upgrade"},
    answer_example=examples.DISABLED,
)
async def disable(services: LearnerServices, call: Call) -> Answer:
    """Takes a lesson out of matching until it is approved again

    The lesson stays, with its numbers.
    """
    return await _decided(services, call, Decision.DISABLE, await call.body(DECISION))


@Route(
    "DELETE",
    "/lessons/{lesson_id:str}",
    permission=Permission.ADMINISTER,
    answers=None,
    status=204,
    raises=[UnknownLesson, StoreUnavailable],
)
async def erase(services: LearnerServices, call: Call) -> Answer:
    """Erases a lesson for good: content, copy, vectors, file, the content of its log and the answers kept that show it

    That it was there, and what was done when, stays in the log. Feedback stays counted under its id. A request that is
    repeated under its Idempotency-Key has no second effect and is told that its answer was erased. A Learner that runs
    by itself does not reach the answers to invokes, which are kept for 24 h.
    """
    await services.erase(_id(call), actor=call.caller.name)
    return nothing()


async def _decided(
    services: LearnerServices, call: Call, decision: Decision, said: DecisionBody, edit: LessonEdit | None = None
) -> Answer:
    command = ReviewCommand(
        lesson_id=_id(call),
        decision=decision,
        actor=call.caller.name,
        edit=edit,
        version=said.version,
        reviewer=said.reviewer,
        note=said.note,
    )
    return answer(shown(await services.review(command)))


def _id(call: Call) -> str:
    return uuid_parameter(call, "lesson_id", UnknownLesson)


OPERATIONS = (review_queue, approve, edit, reject, disable, erase)
