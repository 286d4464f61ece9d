"""Exact nearest lessons by brute force over all vectors. Not for several threads at once."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import islice
from typing import Final

import numpy as np

from adapters.vectors.vector_block import Cosines, VectorBlock, Vectors

_BLOCK_BYTES: Final = 16 << 20
_ROUNDING: Final = 1e-5
"""More than two float32 dot products of the same unit vectors differ by, in whatever order they are summed."""

_RESCORED_AT_ONCE: Final = 512


class ExactVectors:
    """Lessons with their vectors, in blocks: a change costs at most the copying of one block (16 MiB).

    Cosines are answered in float64, summed in one fixed order, so that they depend on the vectors alone and not on
    where a vector lies in memory or on what else is there.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._blocks: list[VectorBlock] = []
        self._places: dict[str, tuple[VectorBlock, int]] = {}
        self.rows = 0

    def __len__(self) -> int:
        return len(self._places)

    @property
    def room(self) -> int:
        """The vectors for which memory is set aside."""
        return sum(block.capacity for block in self._blocks)

    def put(self, lesson_id: str, group: int, vectors: Vectors) -> None:
        """Adds or replaces a lesson; without any vector it is just removed."""
        self.remove(lesson_id)
        if not len(vectors):
            return
        if not self._blocks or not self._blocks[-1].fits(len(vectors)):
            capacity = max(_BLOCK_BYTES // (4 * self._dimension), len(vectors))
            self._blocks.append(VectorBlock(capacity, self._dimension))
        block = self._blocks[-1]
        self._places[lesson_id] = block, block.add(lesson_id, group, vectors)
        self.rows += len(vectors)

    def remove(self, lesson_id: str) -> None:
        """No error where it is not there."""
        if lesson_id not in self._places:
            return
        block, slot = self._places.pop(lesson_id)
        self.rows -= len(block.vectors(slot))
        block.remove(slot)
        if block.is_mostly_gone:
            self._blocks.remove(block)
            for left in block.present():
                left_id = block.lesson_ids[left]
                self.rows -= len(block.vectors(left))
                del self._places[left_id]
                self.put(left_id, block.group(left), block.vectors(left))

    def nearest(self, query: Vectors, limit: int, group: int | None) -> list[tuple[str, float]]:
        """Up to `limit` lessons with their best cosine, best first, equal ones by id."""
        if limit <= 0 or not self._places:
            return []
        best = [block.best(query, group) for block in self._blocks]
        least = _least_of_first(np.concatenate(best), limit) - _ROUNDING
        likely = (
            block.lesson_ids[slot]
            for block, cosines in zip(self._blocks, best, strict=True)
            for slot in np.flatnonzero(cosines >= least)
        )
        found = self.cosines(query, likely)
        return heapq.nsmallest(limit, found.items(), key=lambda one: (-one[1], one[0]))

    def cosines(self, query: Vectors, lesson_ids: Iterable[str]) -> dict[str, float]:
        """The best cosine of each of these lessons that is there."""
        wide = query.astype(np.float64)
        known = (lesson_id for lesson_id in lesson_ids if lesson_id in self._places)
        found: dict[str, float] = {}
        while some := list(islice(known, _RESCORED_AT_ONCE)):
            vectors = [block.vectors(slot) for block, slot in (self._places[lesson_id] for lesson_id in some)]
            starts = np.cumsum([0, *map(len, vectors)])[:-1]
            sums = np.add.reduce(np.concatenate(vectors).astype(np.float64) * wide, axis=1)
            best = np.clip(np.maximum.reduceat(sums, starts), -1.0, 1.0)
            found.update(zip(some, best.tolist(), strict=True))
        return found


def _least_of_first(cosines: Cosines, limit: int) -> float:
    """The `limit`-th largest of those that are not -inf, or the least where there are fewer."""
    there = int(np.count_nonzero(cosines > -np.inf))
    at = len(cosines) - min(limit, there)
    return float(np.partition(cosines, at)[at]) if there else np.inf
