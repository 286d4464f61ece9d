"""`/escalations`: what was due, where it went, and sending it once more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec

from application.feedback.ports import EscalationFilter
from domain.errors import Conflict, StoreUnavailable, UnknownEscalation
from domain.feedback.escalation import Escalation, Path, State
from domain.values import CallerId
from entrypoints.http import examples
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, answer
from entrypoints.http.identifiers import PAGED, Cursor, Limit, uuid_parameter
from entrypoints.http.operation import Call, Route
from entrypoints.http.paging import page
from entrypoints.http.services import IncorporatorServices


class EscalationParameters(msgspec.Struct, frozen=True):
    """An empty filter counts as absent."""

    lesson_skill_id: Annotated[CallerId, msgspec.Meta(description="Only those of this lesson.")] | None = None
    state: Annotated[State, msgspec.Meta(description="Only those in this state.")] | None = None
    limit: Limit = 100
    cursor: Cursor | None = None


class EscalationAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An escalation as it is shown. `report_number` counts the reports of its feedback entry."""

    id: str
    lesson_skill_id: str
    feedback_entry_id: str
    report_number: int
    review_round: int
    failure_count: int
    reason: str
    path: Path
    target: str
    state: State
    attempts: int
    last_error: str | None
    created_at: datetime
    next_attempt_at: datetime | None
    delivered_at: datetime | None


def shown(escalation: Escalation) -> EscalationAnswer:
    return EscalationAnswer(
        id=escalation.id,
        lesson_skill_id=escalation.lesson_skill_id,
        feedback_entry_id=escalation.entry_id,
        report_number=escalation.report_number,
        review_round=escalation.review_round,
        failure_count=escalation.failure_count,
        reason=escalation.reason,
        path=escalation.path,
        target=escalation.target,
        state=escalation.state,
        attempts=escalation.attempts,
        last_error=escalation.last_error,
        created_at=escalation.created_at,
        next_attempt_at=escalation.next_attempt_at if escalation.state is State.PENDING else None,
        delivered_at=escalation.delivered_at,
    )


@Route(
    "GET",
    "/escalations",
    permission=Permission.READ,
    query=EscalationParameters,
    answers=list[EscalationAnswer],
    headers=PAGED,
    raises=[StoreUnavailable],
    answer_example=[examples.ESCALATION],
)
async def escalations(services: IncorporatorServices, call: Call) -> Answer:
    """Escalations, newest first

    All filters are optional and hold together. While there are more, the `Link` header leads to the next page.
    """
    parameters, given = call.query(EscalationParameters)
    where = EscalationFilter(lesson_skill_id=parameters.lesson_skill_id, state=parameters.state)

    async def read(limit: int, cursor: str | None) -> tuple[Sequence[Escalation], str | None]:
        found = await services.outbox.page(where, limit, cursor)
        return found.escalations, found.next_cursor

    return await page(call, parameters, given, read, shown)


@Route(
    "GET",
    "/escalations/{escalation_id:str}",
    permission=Permission.READ,
    answers=EscalationAnswer,
    raises=[UnknownEscalation, StoreUnavailable],
    answer_example=examples.ESCALATION,
)
async def escalation(services: IncorporatorServices, call: Call) -> Answer:
    """One escalation

    What is due because a lesson has kept failing, who takes it, and whether it has arrived.
    """
    return answer(shown(await services.outbox.get(uuid_parameter(call, "escalation_id", UnknownEscalation))))


@Route(
    "POST",
    "/escalations/{escalation_id:str}/retry",
    permission=Permission.REVIEW,
    answers=EscalationAnswer,
    raises=[UnknownEscalation, Conflict, StoreUnavailable],
    answer_example=examples.RETRIED,
)
async def retry(services: IncorporatorServices, call: Call) -> Answer:
    """Makes a failed or waiting escalation due at once, with its attempts anew

    A running service delivers it. One that was delivered or superseded is answered 409.
    """
    escalation_id = uuid_parameter(call, "escalation_id", UnknownEscalation)
    found = await services.outbox.retry(escalation_id, services.clock.now())
    services.wake()
    return answer(shown(found))


OPERATIONS = (escalations, escalation, retry)
