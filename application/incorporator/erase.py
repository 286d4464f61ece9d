"""Erasing a lesson where its content may also stand in answers that are kept."""

from __future__ import annotations

import msgspec

from application.feedback.ports import KeptAnswers
from application.learner.review import EraseLesson
from domain.errors import UnknownLesson


class EraseLessonAndAnswers:
    """Erases a lesson as `EraseLesson` does, and then the kept answers to invokes that show it.

    Where the latter fails, erasing the lesson once more does it, and says that the lesson is unknown. An answer that is
    stored after that, by an invoke which was under way, is not shown to a repeated request (`Invoke`).
    Raises `UnknownLesson`, `StoreUnavailable`.
    """

    def __init__(self, *, erase: EraseLesson, answers: KeptAnswers) -> None:
        self._erase = erase
        self._answers = answers

    async def __call__(self, lesson_id: str, *, actor: str) -> None:
        try:
            await self._erase(lesson_id, actor=actor)
        except UnknownLesson:
            await self._answers.erase_mentions(as_shown(lesson_id))
            raise
        await self._answers.erase_mentions(as_shown(lesson_id))


def as_shown(lesson_id: str) -> str:
    """How the JSON of an answer to an invoke begins to show a lesson; one that only names it does not hold this."""
    return msgspec.json.encode({"raw_payload": {"id": lesson_id}}).decode().strip("{}")
