"""Cosines of a query with lessons' vectors, the same wherever in memory the vectors lie."""

from __future__ import annotations

import itertools
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

Rows = NDArray[np.intp]
"""Numbers of rows in a block of vectors."""


def best_cosines(
    lessons: Sequence[tuple[str, slice]], cosines: Callable[[Rows], NDArray[np.floating]]
) -> dict[str, float]:
    """The best cosine, in [-1, 1], of each of some lessons (one at least) of a block, given by their rows.

    `cosines` tells those of some rows. Each is a sum over one row alone. (A matrix product sums a row in an order that
    depends on where the row lies, so that equal vectors get slightly different cosines; and its threads keep the other
    cores busy.)
    """
    every = np.array([row for _, rows in lessons for row in range(rows.start, rows.stop)])
    ends = list(itertools.accumulate(rows.stop - rows.start for _, rows in lessons))
    best = np.maximum.reduceat(cosines(every), [0, *ends[:-1]]).tolist()
    return {lesson_id: min(max(cosine, -1.0), 1.0) for (lesson_id, _), cosine in zip(lessons, best, strict=True)}


def first(found: Mapping[str, float], limit: int) -> list[tuple[str, float]]:
    """The `limit` lessons with the largest cosines, largest first, equal ones by id."""
    return sorted(found.items(), key=lambda one: (-one[1], one[0]))[:limit]


def least_of_first(cosines: Cosines, limit: int) -> float:
    """The `limit`-th largest of those that are not -inf, or the least where there are fewer."""
    there = int(np.count_nonzero(cosines > -np.inf))
    at = len(cosines) - min(limit, there)
    return float(np.partition(cosines, at)[at]) if there else np.inf
