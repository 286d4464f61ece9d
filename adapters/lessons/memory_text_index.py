"""The text index inside the process: bit signatures for substrings, BM25 statistics for words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from adapters.embedders.words import content_words
from adapters.lessons.bm25 import Bm25
from adapters.lessons.gram_block import GramBlock, asked_of
from adapters.one_at_a_time import OneAtATime
from application.learner.ports import LessonText, TextHit, TextIndex
from domain.learner.lesson import Bin
from domain.learner.ranking import normalised

_APPLIED_AT_ONCE: Final = 64
"""Lessons; queries get their turn in between."""

_SHORT_QUERY: Final = 2_000
_FEW_LESSONS: Final = 100
"""Of characters and of lessons: their words are scored sooner than a thread is woken."""

_SHORT_TEXTS: Final = 4_000
"""Characters of lessons that are taken over sooner than that."""


class _Text(NamedTuple):
    lesson_id: str
    bin: Bin
    title: str
    body: str


class MemoryTextIndex(TextIndex):
    """Private to the process and empty at its start. Exact: what the signatures let through is compared.

    An empty query is contained in nothing.
    """

    def __init__(self) -> None:
        self._turns = OneAtATime()
        self._words = Bm25()
        self._blocks: list[GramBlock] = []
        self._texts: list[_Text | None] = []
        self._places: dict[str, int] = {}
        self._free: list[int] = []

    async def apply(self, put: Sequence[LessonText], remove: Sequence[str]) -> None:
        for start in range(0, len(remove), _APPLIED_AT_ONCE):
            await self._turns.in_thread(partial(self._forget_all, remove[start : start + _APPLIED_AT_ONCE]))
        for start in range(0, len(put), _APPLIED_AT_ONCE):
            some = put[start : start + _APPLIED_AT_ONCE]
            is_short = sum(len(one.title) + len(one.body) for one in some) <= _SHORT_TEXTS
            taken = self._turns.at_once if is_short else self._turns.in_thread
            await taken(partial(self._keep_all, some))

    async def containing(self, query: str, bin: Bin | None = None) -> Sequence[TextHit]:
        wanted = normalised(query)
        if not wanted:
            return []
        return await self._turns.in_thread(lambda: list(self._hits(wanted, bin)))

    async def lexical(self, query: str, lesson_ids: Sequence[str]) -> dict[str, float]:
        def scores() -> dict[str, float]:
            return self._words.scores(content_words(query), lesson_ids)

        is_short = len(query) <= _SHORT_QUERY and len(lesson_ids) <= _FEW_LESSONS
        return await (self._turns.at_once(scores) if is_short else self._turns.in_thread(scores))

    def _hits(self, wanted: str, bin: Bin | None) -> Iterator[TextHit]:
        asked = asked_of(wanted)
        for number, block in enumerate(self._blocks):
            for column in block.may_contain(asked):
                text = self._texts[number * GramBlock.LESSONS + column]
                if text is None or (bin is not None and text.bin is not bin):
                    continue
                if wanted in text.title:
                    yield TextHit(lesson_id=text.lesson_id, in_title=True)
                elif wanted in text.body:
                    yield TextHit(lesson_id=text.lesson_id, in_title=False)

    def _forget_all(self, lesson_ids: Sequence[str]) -> None:
        for lesson_id in lesson_ids:
            self._forget(lesson_id)

    def _keep_all(self, lessons: Sequence[LessonText]) -> None:
        """In place of what is there of them; all at once, which takes a fraction of one after the other."""
        by_id = {lesson.lesson_id: lesson for lesson in lessons}
        self._forget_all(list(by_id))
        of_block: dict[int, list[tuple[int, str]]] = {}
        for lesson in by_id.values():
            text = _Text(lesson.lesson_id, lesson.bin, normalised(lesson.title), normalised(lesson.body))
            place = self._place()
            self._texts[place] = text
            self._places[lesson.lesson_id] = place
            number, column = divmod(place, GramBlock.LESSONS)
            of_block.setdefault(number, []).append((column, f"{text.title}\n{text.body}"))
        for number, added in of_block.items():
            self._blocks[number].add(*zip(*added, strict=True))
        self._words.put({one.lesson_id: content_words(f"{one.title}\n{one.body}") for one in by_id.values()})

    def _place(self) -> int:
        """One that is free, with an empty column."""
        if self._free:
            return self._free.pop()
        self._texts.append(None)
        if len(self._texts) > len(self._blocks) * GramBlock.LESSONS:
            self._blocks.append(GramBlock())
        return len(self._texts) - 1

    def _forget(self, lesson_id: str) -> None:
        self._words.remove(lesson_id)
        place = self._places.pop(lesson_id, None)
        if place is None:
            return
        number, column = divmod(place, GramBlock.LESSONS)
        self._blocks[number].clear(column)
        self._texts[place] = None
        self._free.append(place)
