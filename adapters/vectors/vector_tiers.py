"""Few vectors exactly, many by their codes. Not for several threads at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from adapters.vectors.coded_vectors import CodedVectors
from adapters.vectors.cosines import Lesson, Vectors, first
from adapters.vectors.exact_vectors import ExactVectors

EXACT_BYTES: Final = 32 << 20
"""Where reading all vectors takes about as long as finding the candidates: 8,192 vectors of 1,024 numbers, 1.5 ms."""

_MOVED_AT_ONCE: Final = 256

_CODED: Final = 3_600_000
_CODED_ROW: Final = 48
"""What a search among codes takes, and for each vector, in multiplications."""


class VectorTiers:
    """All is exact up to `exact_bytes` of vectors; beyond, lessons are coded, a few with each change."""

    def __init__(self, dimension: int, exact_bytes: int) -> None:
        self._exact = ExactVectors(dimension)
        self._coded: CodedVectors | None = None
        self._dimension = dimension
        self._most_exact = exact_bytes // (4 * max(dimension, 1))

    def __len__(self) -> int:
        return len(self._exact) + len(self._coded or ())

    @property
    def rows(self) -> int:
        return self._exact.rows + (self._coded.rows if self._coded else 0)

    @property
    def search_work(self) -> int:
        """About how many multiplications a search takes as long as; a millisecond has four million."""
        exact = self._exact.rows * self._dimension
        return exact + _CODED + self._coded.rows * _CODED_ROW if self._coded else exact

    def put(self, lessons: Sequence[Lesson]) -> None:
        """Adds or replaces lessons; one without any vector is just removed."""
        if self._coded is None and self.rows <= self._most_exact:
            self._exact.put(lessons)
            return
        self._coded = self._coded or CodedVectors(self._dimension)
        self._move(self._coded, lessons)
        self._move(self._coded, self._exact.some(_MOVED_AT_ONCE))

    def remove(self, lesson_ids: Iterable[str]) -> None:
        """No error for those that are not there."""
        for lesson_id in lesson_ids:
            self._exact.remove(lesson_id)
            if self._coded:
                self._coded.remove(lesson_id)

    def nearest(self, query: Vectors, limit: int, group: int | None) -> list[tuple[str, float]]:
        """Up to `limit` lessons with their best cosine, best first, equal ones by id."""
        found = self._exact.nearest(query, limit, group)
        if self._coded is None:
            return found
        return first(dict(found + self._coded.nearest(query, limit, group)), limit)

    def cosines(self, query: Vectors, lesson_ids: Sequence[str]) -> dict[str, float]:
        """The best cosine of each of these lessons that is there."""
        found = self._exact.cosines(query, lesson_ids)
        return found | self._coded.cosines(query, lesson_ids) if self._coded else found

    def _move(self, coded: CodedVectors, lessons: Sequence[Lesson]) -> None:
        coded.put(lessons)
        for lesson in lessons:
            self._exact.remove(lesson.id)
