"""Exact nearest lessons by brute force over all vectors. Not for several threads at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

import numpy as np

from adapters.vectors.cosines import ROUNDING, Lesson, Vectors, best_cosines, first, least_of_first
from adapters.vectors.vector_block import VectorBlock

_BLOCK_BYTES: Final = 128 << 20


class ExactVectors:
    """Lessons with their vectors, in blocks: a change costs at most the copying of one block (128 MiB)."""

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

    def put(self, lessons: Iterable[Lesson]) -> None:
        """Adds or replaces lessons; one without any vector is just removed."""
        for lesson in lessons:
            self.remove(lesson.id)
            if len(lesson.vectors):
                self._append(lesson)

    def remove(self, lesson_id: str) -> None:
        """No error where it is not there."""
        if lesson_id not in self._places:
            return
        block, slot = self._places.pop(lesson_id)
        self.rows -= len(block.vectors(slot))
        block.remove(slot)
        if block.is_mostly_gone:
            self._dissolve(block)

    def nearest(self, query: Vectors, limit: int, group: int | None) -> list[tuple[str, float]]:
        """Up to `limit` lessons with their best cosine, best first, equal ones by id."""
        if limit <= 0 or not self._places:
            return []
        best = [block.best(query, group) for block in self._blocks]
        least = least_of_first(np.concatenate(best), limit) - ROUNDING
        likely = (
            block.lesson_ids[slot]
            for block, cosines in zip(self._blocks, best, strict=True)
            for slot in np.flatnonzero(cosines >= least)
        )
        return first(self.cosines(query, likely), limit)

    def cosines(self, query: Vectors, lesson_ids: Iterable[str]) -> dict[str, float]:
        """The best cosine of each of these lessons that is there."""
        there: dict[VectorBlock, list[tuple[str, slice]]] = defaultdict(list)
        for lesson_id in lesson_ids:
            if lesson_id in self._places:
                block, slot = self._places[lesson_id]
                there[block].append((lesson_id, block.rows(slot)))
        found: dict[str, float] = {}
        for block, lessons in there.items():
            found.update(best_cosines(lessons, partial(block.cosines, query=query)))
        return found

    def all(self) -> Sequence[Lesson]:
        """All lessons. Their vectors are views: good until the next change."""
        return [Lesson(one, block.group(slot), block.vectors(slot)) for one, (block, slot) in self._places.items()]

    def _append(self, lesson: Lesson) -> None:
        count = len(lesson.vectors)
        if not self._blocks or not self._blocks[-1].fits(count):
            capacity = max(_BLOCK_BYTES // (4 * self._dimension), count)
            self._blocks.append(VectorBlock(capacity, self._dimension))
        block = self._blocks[-1]
        self._places[lesson.id] = block, block.add(lesson)
        self.rows += count

    def _dissolve(self, block: VectorBlock) -> None:
        """Moves what is left of a block to where there is room."""
        self._blocks.remove(block)
        for slot in block.present():
            self.rows -= len(block.vectors(slot))
            self._append(Lesson(block.lesson_ids[slot], block.group(slot), block.vectors(slot)))
