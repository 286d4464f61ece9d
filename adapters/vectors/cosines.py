"""Cosines of a query with lessons' vectors, the same wherever in memory the vectors lie."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""float32[n, dimension], each row of length 1 (or all zeros)."""

Cosines = NDArray[np.float32]


class Lesson(NamedTuple):
    """A lesson's vectors; `group` (0 or more) is what a search can be restricted to."""

    id: str
    group: int
    vectors: Vectors


ROUNDING: Final = 1e-5
"""More than two float32 dot products of the same unit vectors differ by, in whatever order they are summed."""

_ROWS: Final = 128
"""Vectors whose cosines are worked out together: so few that they stay in the processor's cache."""

Scales = NDArray[np.float32]
"""float32[n, 1]: what each row of stored values is multiplied by."""


class Stored(NamedTuple):
    """A lesson's vectors as they are kept: each is a row of values times its scale."""

    id: str
    values: Vectors | NDArray[np.int16]
    scales: Scales


class BestCosines:
    """Works out lessons' best cosines. The memory for that is used again: to get it anew would cost more than the sums.

    The sums are float64 and each is over one row alone. (A matrix product sums a row in an order that depends on where
    the row lies, so that equal vectors get slightly different cosines; and its threads keep the other cores busy.)
    """

    def __init__(self, dimension: int) -> None:
        self._rows = np.empty((_ROWS, dimension), np.float64)

    def of(self, query: Vectors, lessons: Iterable[Stored]) -> dict[str, float]:
        """Each lesson's best cosine, in [-1, 1]."""
        wide = query.astype(np.float64)
        found: dict[str, float] = {}
        ids: list[str] = []
        starts: list[int] = []
        end = 0
        for lesson in lessons:
            count = len(lesson.values)
            if end + count > len(self._rows):
                found.update(self._best(wide, ids, starts, end))
                ids, starts, end = [], [], 0
            if count > len(self._rows):
                self._rows = np.empty((count, len(wide)), np.float64)
            np.multiply(lesson.values, lesson.scales, out=self._rows[end : end + count])
            ids.append(lesson.id)
            starts.append(end)
            end += count
        found.update(self._best(wide, ids, starts, end))
        return found

    def _best(
        self, query: NDArray[np.float64], ids: Sequence[str], starts: Sequence[int], end: int
    ) -> Iterable[tuple[str, float]]:
        if not ids:
            return ()
        best = np.maximum.reduceat(np.vecdot(self._rows[:end], query), starts)
        return zip(ids, np.clip(best, -1.0, 1.0).tolist(), strict=True)


def first(found: Mapping[str, float], limit: int) -> list[tuple[str, float]]:
    """The `limit` lessons with the largest cosines, largest first, equal ones by id."""
    return heapq.nsmallest(limit, found.items(), key=lambda one: (-one[1], one[0]))


def least_of_first(cosines: Cosines, limit: int) -> float:
    """The `limit`-th largest of those that are not -inf, or the least where there are fewer."""
    there = int(np.count_nonzero(cosines > -np.inf))
    at = len(cosines) - min(limit, there)
    return float(np.partition(cosines, at)[at]) if there else np.inf
