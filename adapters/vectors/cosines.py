"""Cosines of a query with lessons' vectors, the same wherever in memory the vectors lie."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from itertools import islice
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

_AT_ONCE: Final = 32
"""Lessons; so few that their vectors stay in the processor's cache."""


def best_cosines(query: Vectors, lessons: Iterable[tuple[str, Vectors]]) -> dict[str, float]:
    """Each lesson's best cosine, in [-1, 1].

    The sums are float64 and in one fixed order. (A matrix product sums a row in an order that depends on where the row
    lies, so that equal vectors get slightly different cosines.)
    """
    wide = query.astype(np.float64)
    left = iter(lessons)
    found: dict[str, float] = {}
    while some := list(islice(left, _AT_ONCE)):
        starts = np.cumsum([0, *(len(vectors) for _, vectors in some)])[:-1]
        sums = np.vecdot(np.concatenate([vectors for _, vectors in some], dtype=np.float64), wide)
        best = np.clip(np.maximum.reduceat(sums, starts), -1.0, 1.0)
        found.update(zip((lesson_id for lesson_id, _ in some), best.tolist(), strict=True))
    return found


def first(found: Mapping[str, float], limit: int) -> list[tuple[str, float]]:
    """The `limit` lessons with the largest cosines, largest first, equal ones by id."""
    return heapq.nsmallest(limit, found.items(), key=lambda one: (-one[1], one[0]))


def least_of_first(cosines: Cosines, limit: int) -> float:
    """The `limit`-th largest of those that are not -inf, or the least where there are fewer."""
    there = int(np.count_nonzero(cosines > -np.inf))
    at = len(cosines) - min(limit, there)
    return float(np.partition(cosines, at)[at]) if there else np.inf
