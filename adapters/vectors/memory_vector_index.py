"""The vector index inside the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import numpy as np

from adapters.one_at_a_time import OneAtATime
from adapters.vectors.exact_vectors import ExactVectors
from adapters.vectors.vector_block import Vectors
from application.learner.ports import StoredVectors, VectorHit, VectorIndex
from domain.errors import EmbedderMismatch
from domain.learner.lesson import Bin

_GROUPS: Final = {Bin.SKILLS: 0, Bin.KNOWLEDGE: 1}
_SHORT_WORK: Final = 1 << 20
"""Multiplications (about a third of a millisecond) that are done sooner than a thread is woken."""

_APPLIED_AT_ONCE: Final = 256
"""Lessons; searches get their turn in between."""

Result = TypeVar("Result")


class MemoryVectorIndex(VectorIndex):
    """Private to the process and empty at its start. Exact."""

    def __init__(self) -> None:
        self._turns = OneAtATime()
        self._embedder = ""
        self._dimension = 0
        self._revision = 0
        self._vectors = ExactVectors(0)

    async def prepare(self, embedder: str, dimension: int) -> int:
        if len(self._vectors):
            self._check(embedder, dimension)
        elif (embedder, dimension) != (self._embedder, self._dimension):
            await self.reset(embedder, dimension)
        return self._revision

    async def reset(self, embedder: str, dimension: int) -> None:
        def emptied() -> None:
            self._embedder, self._dimension, self._revision = embedder, dimension, 0
            self._vectors = ExactVectors(dimension)

        await self._turns.at_once(emptied)

    async def nearest(self, query: bytes, limit: int, bin: Bin | None = None) -> Sequence[VectorHit]:
        group = None if bin is None else _GROUPS[bin]
        found = await self._worked(self._vectors.rows, lambda: self._vectors.nearest(self._vector(query), limit, group))
        return [VectorHit(lesson_id=lesson_id, similarity=cosine) for lesson_id, cosine in found]

    async def similarities(self, query: bytes, lesson_ids: Sequence[str]) -> dict[str, float]:
        return await self._worked(len(lesson_ids), lambda: self._vectors.cosines(self._vector(query), lesson_ids))

    async def apply(self, put: Sequence[StoredVectors], remove: Sequence[str], revision: int) -> None:
        """Raises `EmbedderMismatch`, with nothing applied, for vectors of another embedder or dimension."""
        for stored in put:
            self._check(stored.embedder, stored.dimension)
        for start in range(0, len(remove), _APPLIED_AT_ONCE):
            await self._removed(remove[start : start + _APPLIED_AT_ONCE])
        for start in range(0, len(put), _APPLIED_AT_ONCE):
            await self._put(put[start : start + _APPLIED_AT_ONCE])
        self._revision = revision

    async def _removed(self, lesson_ids: Sequence[str]) -> None:
        def call() -> None:
            for lesson_id in lesson_ids:
                self._vectors.remove(lesson_id)

        await self._worked(len(lesson_ids), call)

    async def _put(self, lessons: Sequence[StoredVectors]) -> None:
        def call() -> None:
            for stored in lessons:
                self._vectors.put(stored.lesson_id, _GROUPS[stored.bin], _matrix(stored.data, stored.dimension))

        await self._worked(sum(stored.count for stored in lessons), call)

    async def _worked(self, rows: int, call: Callable[[], Result]) -> Result:
        if rows * self._dimension <= _SHORT_WORK:
            return await self._turns.at_once(call)
        return await self._turns.in_thread(call)

    def _vector(self, query: bytes) -> Vectors:
        if len(query) != 4 * self._dimension:
            raise EmbedderMismatch(
                f"the query has {len(query) / 4:g} dimensions, the index {self._dimension} ({self._embedder}): "
                "rebuild it with `memorygrid reindex`"
            )
        vector: Vectors = _matrix(query, self._dimension)[0]
        return vector

    def _check(self, embedder: str, dimension: int) -> None:
        if (embedder, dimension) != (self._embedder, self._dimension):
            raise EmbedderMismatch(
                f"the vector index is made for {self._embedder or 'no embedder'} ({self._dimension} dimensions), "
                f"not for {embedder} ({dimension}): rebuild it with `memorygrid reindex`"
            )


def _matrix(data: bytes, dimension: int) -> Vectors:
    """Little-endian float32 as float32[n, dimension]; what is not finite becomes 0."""
    matrix = np.frombuffer(data, "<f4").reshape(-1, dimension)
    return matrix if np.isfinite(matrix).all() else np.nan_to_num(matrix, nan=0.0, posinf=0.0, neginf=0.0)
