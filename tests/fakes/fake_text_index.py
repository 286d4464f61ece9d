"""A text index that reads every lesson."""

from __future__ import annotations

import re
from collections.abc import Sequence

from application.learner.ports import LessonText, TextHit, TextIndex
from domain.learner.lesson import Bin
from domain.learner.ranking import normalised


class FakeTextIndex(TextIndex):
    def __init__(self) -> None:
        self._lessons: dict[str, LessonText] = {}

    async def apply(self, put: Sequence[LessonText], remove: Sequence[str]) -> None:
        for lesson_id in remove:
            self._lessons.pop(lesson_id, None)
        self._lessons.update({text.lesson_id: text for text in put})

    async def containing(self, query: str, bin: Bin | None = None) -> Sequence[TextHit]:
        wanted = normalised(query)
        return [
            TextHit(lesson_id=text.lesson_id, in_title=wanted in normalised(text.title))
            for text in self._lessons.values()
            if wanted
            and (bin is None or text.bin is bin)
            and (wanted in normalised(text.title) or wanted in normalised(text.body))
        ]

    async def lexical(self, query: str, lesson_ids: Sequence[str]) -> dict[str, float]:
        """Rare words count more; that is all that is left of BM25 here."""
        having = {word: sum(word in _words(text) for text in self._lessons.values()) for word in _query_words(query)}
        return {
            lesson_id: sum(1.0 / having[word] for word in sorted(having) if word in _words(self._lessons[lesson_id]))
            for lesson_id in lesson_ids
            if lesson_id in self._lessons
        }


def _query_words(query: str) -> set[str]:
    return set(re.findall(r"\w+", normalised(query)))


def _words(text: LessonText) -> set[str]:
    return _query_words(f"{text.title}\n{text.body}")
