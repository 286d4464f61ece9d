"""A fixed stretch of memory that holds the vectors of some lessons, one lesson's after the other."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from adapters.vectors.cosines import Cosines, Lesson, Rows, Vectors

GONE: Final = -1
"""The group of what has been removed."""

_SLICE: Final = 128
"""Rows whose cosines are computed together, in the processor's cache."""


class VectorBlock:
    """Up to `capacity` vectors. A lesson has a slot: its number within the block, never used twice.

    What is removed keeps its rows until the block is compacted.
    """

    def __init__(self, capacity: int, dimension: int) -> None:
        self._rows: Vectors = np.empty((capacity, dimension), np.float32)
        self._starts = np.zeros(capacity + 1, np.intp)
        self._groups = np.full(capacity, GONE, np.int8)
        self._used = 0
        self.lesson_ids: list[str] = []
        self.gone_rows = 0

    @property
    def capacity(self) -> int:
        return len(self._rows)

    def fits(self, count: int) -> bool:
        return self._used + count <= len(self._rows)

    def add(self, lesson: Lesson) -> int:
        """The slot of the new lesson."""
        slot = len(self.lesson_ids)
        end = self._used + len(lesson.vectors)
        self._rows[self._used : end] = lesson.vectors
        self._starts[slot + 1] = self._used = end
        self._groups[slot] = lesson.group
        self.lesson_ids.append(lesson.id)
        return slot

    def remove(self, slot: int) -> None:
        self._groups[slot] = GONE
        self.gone_rows += len(self.vectors(slot))

    def group(self, slot: int) -> int:
        return int(self._groups[slot])

    def rows(self, slot: int) -> slice:
        return slice(int(self._starts[slot]), int(self._starts[slot + 1]))

    def vectors(self, slot: int) -> Vectors:
        return self._rows[self.rows(slot)]

    def cosines(self, rows: Rows, query: Vectors) -> NDArray[np.float64]:
        """Of each of these rows with `query`, summed more precisely than `best` does."""
        wide, cosines = query.astype(np.float64), np.empty(len(rows))
        for start in range(0, len(rows), _SLICE):
            part = slice(start, start + _SLICE)
            cosines[part] = np.vecdot(self._rows.take(rows[part], axis=0).astype(np.float64), wide)
        return cosines

    def best(self, query: Vectors, group: int | None) -> Cosines:
        """Each slot's best cosine with `query`, -inf where the lesson is gone or in another group."""
        slots = len(self.lesson_ids)
        if not slots:
            return np.empty(0, np.float32)
        best = np.maximum.reduceat(np.vecdot(self._rows[: self._used], query), self._starts[:slots])
        groups = self._groups[:slots]
        best[groups == GONE if group is None else groups != group] = -np.inf
        return best

    def present(self) -> list[int]:
        """The slots of the lessons that are still there."""
        return [int(slot) for slot in np.flatnonzero(self._groups[: len(self.lesson_ids)] != GONE)]

    @property
    def is_mostly_gone(self) -> bool:
        return self.gone_rows * 2 > self._used
