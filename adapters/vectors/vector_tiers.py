"""Few vectors are searched exactly, many by their codes. Not for several threads at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from adapters.vectors.coded_vectors import CodedVectors
from adapters.vectors.cosines import Lesson, Vectors
from adapters.vectors.exact_vectors import ExactVectors

EXACT_BYTES: Final = 32 << 20
"""8,192 vectors of 1,024 numbers: to read all of them takes 1.5 ms, three times as long as to find them by codes."""

_CODED_AT_ONCE: Final = 256
"""Lessons: the memory that coding takes for a moment stays small."""

_CODED: Final = 1_800_000
_CODED_ROW: Final = 32
"""What a search among codes takes, and for each vector, in multiplications."""

_CODING: Final = 250
"""What it takes to code a vector and to write it down, for each of its numbers, in multiplications."""


class VectorTiers:
    """All are exact up to `exact_bytes` of vectors. The put that goes beyond codes all of them, and they stay coded."""

    def __init__(self, dimension: int, exact_bytes: int) -> None:
        self._tier: ExactVectors | CodedVectors = ExactVectors(dimension)
        self._dimension = dimension
        self._most_exact = exact_bytes // (4 * max(dimension, 1))

    def __len__(self) -> int:
        return len(self._tier)

    @property
    def rows(self) -> int:
        return self._tier.rows

    @property
    def search_work(self) -> int:
        """About how many multiplications a search takes as long as; a millisecond has four million."""
        if isinstance(self._tier, CodedVectors):
            return _CODED + self.rows * _CODED_ROW
        return self.rows * self._dimension

    def put_work(self, count: int) -> int:
        """As `search_work`: what putting so many vectors takes, at most."""
        may_code_all = isinstance(self._tier, ExactVectors) and self.rows + count > self._most_exact
        return (self.rows + count if may_code_all else count) * self._dimension * _CODING

    def put(self, lessons: Sequence[Lesson]) -> None:
        """Adds or replaces lessons; one without any vector is just removed."""
        self._tier.put(lessons)
        if isinstance(self._tier, ExactVectors) and self.rows > self._most_exact:
            coded = CodedVectors(self._dimension)
            everything = self._tier.all()
            for start in range(0, len(everything), _CODED_AT_ONCE):
                coded.put(everything[start : start + _CODED_AT_ONCE])
            self._tier = coded

    def remove(self, lesson_ids: Iterable[str]) -> None:
        """No error for those that are not there."""
        for lesson_id in lesson_ids:
            self._tier.remove(lesson_id)

    def nearest(self, query: Vectors, limit: int, group: int | None) -> list[tuple[str, float]]:
        """Up to `limit` lessons with their best cosine, best first, equal ones by id."""
        return self._tier.nearest(query, limit, group)

    def cosines(self, query: Vectors, lesson_ids: Sequence[str]) -> dict[str, float]:
        """The best cosine of each of these lessons that is there."""
        return self._tier.cosines(query, lesson_ids)
