"""Which lessons are there already, so that importing the same file twice makes no second lesson."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from application.learner.ports import LessonFilter
from domain.learner.lesson import Bin, LessonDraft
from domain.learner.log import Event
from entrypoints.cli.lesson_files.kept import without_kept
from entrypoints.cli.service import Service
from entrypoints.http.lesson_wire import LessonAnswer

#: Up to so many titles are asked for one by one; for more, all lessons are read once.
_FEW = 25

_encode = msgspec.json.Encoder(order="deterministic").encode


class Known:
    """The lessons that may be those of some drafts: by their content, and by where they came from."""

    def __init__(self, service: Service, lessons: Sequence[LessonAnswer]) -> None:
        self._service = service
        self._by_content = {_digest(one): one.id for one in lessons}
        self._by_origin: dict[tuple[Bin, str, str], list[str]] = {}
        for one in lessons:
            self._by_origin.setdefault((one.bin, one.title, one.source), []).append(one.id)

    @classmethod
    async def of(cls, service: Service, drafts: Sequence[LessonDraft]) -> Known:
        """Reads the lessons that have the drafts' titles."""
        titles = {draft.title for draft in drafts}
        if len(titles) > _FEW:
            return cls(service, await service.lessons(LessonFilter()))
        found = [one for title in sorted(titles) for one in await service.lessons(LessonFilter(text=title))]
        return cls(service, found)

    def same(self, draft: LessonDraft) -> str | None:
        """The id of a lesson with this content, whatever its status."""
        return self._by_content.get(_digest(draft))

    async def edited_here(self, draft: LessonDraft) -> str | None:
        """The id of a lesson of this bin, title and source that a person has edited since it came."""
        for lesson_id in self._by_origin.get((draft.bin, draft.title, draft.source), ()):
            if any(entry.event is Event.EDITED for entry in await self._service.log(lesson_id)):
                return lesson_id
        return None

    def add(self, draft: LessonDraft, lesson_id: str) -> None:
        """Remembers a lesson that has just come in, so that a file that repeats itself makes no second one."""
        self._by_content.setdefault(_digest(draft), lesson_id)


def _digest(lesson: LessonDraft | LessonAnswer) -> bytes:
    content = (lesson.bin, lesson.title, lesson.body, lesson.tags, without_kept(lesson.dsl_payload))
    return hashlib.sha256(_encode(content)).digest()
