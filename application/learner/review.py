"""Review decisions: approve, edit, reject, disable; and erasing a lesson."""

from __future__ import annotations

import msgspec

from application.learner.catalog import Catalog
from application.learner.embed import EmbedLessons
from application.learner.ports import LessonChange, LessonStore, StoredVectors
from application.shared.ports import Clock
from application.shared.unbroken import unbroken
from domain.errors import EmbedderUnavailable
from domain.learner.lesson import Decision, Lesson, LessonEdit, PromotedLesson, Status, decide, promoted_copy
from domain.learner.log import DECIDED, Event, LogEntry
from domain.values import JsonObject


class ReviewCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One decision. `version`, where given, must be the lesson's current one; `reviewer` and `note` go to the log."""

    lesson_id: str
    decision: Decision
    actor: str
    edit: LessonEdit | None = None
    version: int | None = None
    reviewer: str | None = None
    note: str | None = None


class ReviewLesson:
    """Carries a person's decision out, in one transaction of the object store; matching follows at once.

    What is stored is answered, also where matching cannot follow just now.

    Raises `UnknownLesson`, `StaleVersion`, `DecisionNotAllowed`.
    """

    def __init__(self, *, store: LessonStore, catalog: Catalog, embed: EmbedLessons, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._embed = embed
        self._clock = clock

    async def __call__(self, command: ReviewCommand) -> Lesson:
        while True:
            before = await self._store.get(command.lesson_id)
            change = await self._change(before, command)
            if await unbroken(self._changed(change)):
                return change.lesson

    async def _changed(self, change: LessonChange) -> bool:
        """Whether the change was stored; matching has followed it then."""
        stored = await self._store.change(change)
        if stored:
            await self._catalog.after_change()
        return stored

    async def _change(self, before: Lesson, command: ReviewCommand) -> LessonChange:
        now = self._clock.now()
        after = decide(before, command.decision, at=now, edit=command.edit, version=command.version)
        promoted = after.status is Status.PROMOTED
        copy = promoted_copy(after, at=now) if promoted else None
        entry = LogEntry(
            lesson_id=before.id, event=DECIDED[command.decision], at=now, actor=command.actor, detail=_detail(command)
        )
        return LessonChange(
            lesson=after,
            expected=before,
            log=[entry],
            promote=copy,
            vectors=await self._vectors(copy) if copy else None,
            deletes_copy=not promoted,
        )

    async def _vectors(self, copy: PromotedLesson) -> StoredVectors | None:
        """The copy's embeddings; None while the embedder is away: the catalog embeds it when it is back."""
        try:
            return (await self._embed([copy]))[0]
        except EmbedderUnavailable:
            return None


class EraseLesson:
    """Erases a lesson for good: content, copy, vectors, file and the content of its log. Raises `UnknownLesson`."""

    def __init__(self, *, store: LessonStore, catalog: Catalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    async def __call__(self, lesson_id: str, *, actor: str) -> None:
        entry = LogEntry(lesson_id=lesson_id, event=Event.ERASED, at=self._clock.now(), actor=actor, detail={})
        await unbroken(self._erased(lesson_id, entry))

    async def _erased(self, lesson_id: str, entry: LogEntry) -> None:
        await self._store.erase(lesson_id, entry)
        await self._catalog.after_change()


def _detail(command: ReviewCommand) -> JsonObject:
    said = {"reviewer": command.reviewer, "note": command.note}
    return {name: value for name, value in said.items() if value is not None}
