"""What an escalation does to its lesson: back to review, or disabled. Each escalation id has one effect."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from application.learner.catalog import Catalog
from application.learner.ports import LessonChange, LessonStore
from application.shared.ports import Clock
from application.shared.unbroken import unbroken
from domain.errors import UnknownLesson
from domain.learner.lesson import Effect, Lesson, disable_by_escalation, flag
from domain.learner.log import Event, Flag, LogEntry

_Rule = Callable[[Lesson, datetime], Effect | None]


class EscalateLesson:
    """Applies an escalation to a lesson in one transaction of the object store.

    Both methods answer False when the escalation is superseded: a person has decided in the meantime, or the lesson
    is gone. An escalation whose id was applied before changes nothing and answers True.
    """

    def __init__(self, *, store: LessonStore, catalog: Catalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    async def flag(self, lesson_id: str, review_round: int, escalation_id: str, why: Flag) -> bool:
        """The human path: the lesson goes back to `pending_review` and its copy goes on matching."""
        return await self._apply(
            lesson_id,
            escalation_id,
            lambda lesson, at: flag(lesson, review_round=review_round, at=at),
            Event.RUNTIME_FAILURE_FLAGGED,
            why,
        )

    async def disable(self, lesson_id: str, review_round: int, escalation_id: str, why: Flag) -> bool:
        """The auto path: the copy is deleted at once."""
        return await self._apply(
            lesson_id,
            escalation_id,
            lambda lesson, at: disable_by_escalation(lesson, review_round=review_round, at=at),
            Event.RUNTIME_FAILURE_DISABLED,
            why,
        )

    async def _apply(self, lesson_id: str, escalation_id: str, rule: _Rule, event: Event, why: Flag) -> bool:
        while True:
            if await self._store.escalation_applied(escalation_id):
                return True
            try:
                before = await self._store.get(lesson_id)
            except UnknownLesson:
                return False
            now = self._clock.now()
            effect = rule(before, now)
            if effect is None:
                return False
            entry = LogEntry(lesson_id=lesson_id, event=event, at=now, actor="escalation", detail=why.as_detail())
            change = LessonChange(
                lesson=effect.lesson,
                expected=before,
                log=[entry],
                deletes_copy=effect.deletes_copy,
                escalation_id=escalation_id,
            )
            if await unbroken(self._changed(change)):
                return True

    async def _changed(self, change: LessonChange) -> bool:
        """Whether the change was stored; matching has followed it then."""
        stored = await self._store.change(change)
        if stored and change.deletes_copy:
            await self._catalog.after_change()
        return stored
