"""Injecting lessons: what an agent has learned waits for review from here on."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from application.learner.ports import LessonChange, LessonStore
from application.shared.ports import Clock, IdempotencyRecord, IdFactory
from domain.learner.lesson import Lesson, LessonDraft, Status
from domain.learner.log import Event, LogEntry


class InjectLessons:
    """Stores drafts as lessons in `pending_review`, all or none.

    With an idempotency record, equal requests have one effect and the first one's answer. Raises `KeyReused`.
    """

    def __init__(self, *, store: LessonStore, clock: Clock, new_id: IdFactory) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def __call__(
        self, drafts: Sequence[LessonDraft], *, actor: str, request: IdempotencyRecord | None = None
    ) -> list[Lesson]:
        lessons = [self._lesson(draft) for draft in drafts]
        changes = [
            LessonChange(lesson=lesson, expected=None, log=[self._injected(lesson, actor)]) for lesson in lessons
        ]
        if request is not None:
            request = msgspec.structs.replace(request, answer=msgspec.json.encode(lessons))
        earlier = await self._store.add(changes, request)
        return lessons if earlier is None else msgspec.json.decode(earlier, type=list[Lesson])

    def _lesson(self, draft: LessonDraft) -> Lesson:
        now = self._clock.now()
        return Lesson(
            id=self._new_id(),
            bin=draft.bin,
            title=draft.title,
            body=draft.body,
            tags=draft.tags,
            dsl_payload=draft.dsl_payload,
            status=Status.PENDING_REVIEW,
            version=1,
            review_round=0,
            source=draft.source,
            created_at=now,
            updated_at=now,
        )

    @staticmethod
    def _injected(lesson: Lesson, actor: str) -> LogEntry:
        detail: dict[str, object] = {"source": lesson.source} if lesson.source else {}
        return LogEntry(lesson_id=lesson.id, event=Event.INJECTED, at=lesson.created_at, actor=actor, detail=detail)
