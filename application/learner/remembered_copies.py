"""Promoted copies that were read before, so that a search for what is often found need not read them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from application.learner.catalog import Catalog, Promotion
from application.learner.ports import LessonStore
from domain.learner.lesson import PromotedLesson

#: Characters of remembered bodies, at most: about as many bytes.
_CHARACTERS = 16_000_000
#: What a copy takes beside its body, in characters.
_BESIDE = 1_000


class RememberedCopies:
    """The promoted copies of lessons, as of the catalog's revision or newer.

    A copy is good for as long as the catalog has the lesson's promotion that it had when the copy was asked for: the
    object store decides, and what the catalog learns from it (another version, no copy any more) ends the memory.
    Those that were found least recently are forgotten first, once all together have more than `characters`.
    """

    def __init__(self, *, store: LessonStore, catalog: Catalog, characters: int = _CHARACTERS) -> None:
        self._store = store
        self._promotion: Callable[[str], Promotion | None] = catalog.promotion
        self._room = characters
        self._known: dict[str, tuple[Promotion, PromotedLesson]] = {}

    async def __call__(self, lesson_ids: Sequence[str]) -> dict[str, PromotedLesson]:
        """Those that exist of these lessons. Raises `StoreUnavailable`."""
        promotions = {lesson_id: self._promotion(lesson_id) for lesson_id in lesson_ids}
        found: dict[str, PromotedLesson] = {}
        for lesson_id, promotion in promotions.items():
            known = self._forget(lesson_id)
            if known is not None and known[0] is promotion:
                found[lesson_id] = known[1]
        unknown = [lesson_id for lesson_id in promotions if lesson_id not in found]
        if unknown:
            found.update(await self._store.copies(unknown))
        for lesson_id, copy in found.items():
            promotion = promotions[lesson_id]
            if promotion is not None:
                self._remember(promotion, copy)
        return found

    def _remember(self, promotion: Promotion, copy: PromotedLesson) -> None:
        self._forget(copy.id)
        self._known[copy.id] = promotion, copy
        self._room -= _size(copy)
        while self._room < 0:
            self._forget(next(iter(self._known)))

    def _forget(self, lesson_id: str) -> tuple[Promotion, PromotedLesson] | None:
        known = self._known.pop(lesson_id, None)
        if known is not None:
            self._room += _size(known[1])
        return known


def _size(copy: PromotedLesson) -> int:
    return len(copy.body) + _BESIDE
