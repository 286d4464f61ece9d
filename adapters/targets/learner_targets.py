"""Escalation targets in this process: the Learner puts the lesson back to review, or disables it."""

from __future__ import annotations

from typing import Protocol

import msgspec

from application.feedback.ports import EscalationTarget
from application.learner.escalations import EscalateLesson
from domain.errors import DeliveryFailed, StoreUnavailable
from domain.feedback.escalation import Escalation, State
from domain.learner.log import Flag


class LearnerHumanReview(EscalationTarget):
    """The human path: the lesson is flagged and queued for review again."""

    name = "learner_in_process"
    in_process = True

    def __init__(self, *, escalate: EscalateLesson) -> None:
        self._escalate = escalate

    async def deliver(self, escalation: Escalation) -> State:
        return await _delivered(self._escalate.flag, escalation)


class LearnerRemediation(EscalationTarget):
    """The auto path: the lesson is disabled at once."""

    name = "disable_via_learner"
    in_process = True

    def __init__(self, *, escalate: EscalateLesson) -> None:
        self._escalate = escalate

    async def deliver(self, escalation: Escalation) -> State:
        return await _delivered(self._escalate.disable, escalation)


class _Effect(Protocol):
    async def __call__(self, lesson_id: str, review_round: int, escalation_id: str, why: Flag) -> bool: ...


async def _delivered(effect: _Effect, escalation: Escalation) -> State:
    try:
        applied = await effect(escalation.lesson_skill_id, escalation.review_round, escalation.id, _flag(escalation))
    except StoreUnavailable as error:
        raise DeliveryFailed(error.detail) from error
    return State.DELIVERED if applied else State.SUPERSEDED


def _flag(escalation: Escalation) -> Flag:
    return Flag(
        reason=escalation.reason,
        feedback_entry_id=escalation.entry_id,
        failure_count=escalation.failure_count,
        feedback=msgspec.structs.asdict(escalation.counters),
    )
