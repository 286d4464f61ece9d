"""Cosines of a query with lessons' vectors, the same wherever in memory the vectors lie."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
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

Rows = NDArray[np.intp]
"""Numbers of rows in a block of vectors."""

WriteVectors = Callable[[Rows, NDArray[np.float64]], None]
"""Writes the vectors of some rows, one below the other, into an array of as many rows."""


class BestCosines:
    """Works out lessons' best cosines. The memory for that is used again: to get it anew would cost more than the sums.

    The sums are float64 and each is over one row alone. (A matrix product sums a row in an order that depends on where
    the row lies, so that equal vectors get slightly different cosines; and its threads keep the other cores busy.)
    """

    def __init__(self, dimension: int) -> None:
        self._vectors = np.empty((_ROWS, dimension), np.float64)

    def of(self, query: Vectors, lessons: Sequence[tuple[str, slice]], write: WriteVectors) -> dict[str, float]:
        """The best cosine, in [-1, 1], of each of some lessons (one at least) of a block, given by their rows."""
        starts = np.array([rows.start for _, rows in lessons])
        counts = np.array([rows.stop for _, rows in lessons]) - starts
        firsts = np.cumsum(counts) - counts
        every = np.repeat(starts - firsts, counts) + np.arange(counts.sum())
        wide, cosines = query.astype(np.float64), np.empty(len(every))
        for at in range(0, len(every), _ROWS):
            rows = every[at : at + _ROWS]
            vectors = self._vectors[: len(rows)]
            write(rows, vectors)
            cosines[at : at + _ROWS] = np.vecdot(vectors, wide)
        best = np.clip(np.maximum.reduceat(cosines, firsts), -1.0, 1.0)
        return dict(zip((lesson_id for lesson_id, _ in lessons), best.tolist(), strict=True))


def first(found: Mapping[str, float], limit: int) -> list[tuple[str, float]]:
    """The `limit` lessons with the largest cosines, largest first, equal ones by id."""
    return heapq.nsmallest(limit, found.items(), key=lambda one: (-one[1], one[0]))


def least_of_first(cosines: Cosines, limit: int) -> float:
    """The `limit`-th largest of those that are not -inf, or the least where there are fewer."""
    there = int(np.count_nonzero(cosines > -np.inf))
    at = len(cosines) - min(limit, there)
    return float(np.partition(cosines, at)[at]) if there else np.inf
