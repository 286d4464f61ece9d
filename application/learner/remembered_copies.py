"""Promoted copies that were read before, so that a search for what is often found need not read them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from application.learner.catalog import Catalog, Promotion
from application.learner.ports import LessonStore
from domain.learner.lesson import PromotedLesson

#: Bytes of the remembered copies, at most.
_BYTES = 16_000_000
#: What a copy takes beside its content.
_BESIDE = 1_000


class _Known(NamedTuple):
    promotion: Promotion
    copy: PromotedLesson
    size: int


class RememberedCopies:
    """The promoted copies of lessons, as of the catalog's revision or newer.

    A copy is good for as long as the catalog has the lesson's promotion that it had when the copy was asked for: the
    object store decides, and what the catalog learns from it (another version, no copy any more) ends the memory.
    Those that were found least recently are forgotten first, once all together have more than `most_bytes`: each counts
    as long as it is in JSON (body, DSL payload, tags and all), and 1,000 more.
    """

    def __init__(self, *, store: LessonStore, catalog: Catalog, most_bytes: int = _BYTES) -> None:
        self._store = store
        self._promotion: Callable[[str], Promotion | None] = catalog.promotion
        self._room = most_bytes
        self._known: dict[str, _Known] = {}

    async def __call__(self, lesson_ids: Sequence[str]) -> dict[str, PromotedLesson]:
        """Those that exist of these lessons. Raises `StoreUnavailable`."""
        promotions = {lesson_id: self._promotion(lesson_id) for lesson_id in lesson_ids}
        found: dict[str, PromotedLesson] = {}
        for lesson_id, promotion in promotions.items():
            known = self._forget(lesson_id)
            if known is not None and known.promotion is promotion:
                found[lesson_id] = known.copy
                self._remember(known)
        unknown = [lesson_id for lesson_id in promotions if lesson_id not in found]
        if not unknown:
            return found
        for lesson_id, copy in (await self._store.copies(unknown)).items():
            found[lesson_id] = copy
            promotion = promotions[lesson_id]
            if promotion is not None:
                self._remember(_Known(promotion, copy, len(msgspec.json.encode(copy)) + _BESIDE))
        return found

    def _remember(self, known: _Known) -> None:
        self._forget(known.copy.id)
        self._known[known.copy.id] = known
        self._room -= known.size
        while self._room < 0:
            self._forget(next(iter(self._known)))

    def _forget(self, lesson_id: str) -> _Known | None:
        known = self._known.pop(lesson_id, None)
        if known is not None:
            self._room += known.size
        return known
