"""The vector index inside the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from adapters.one_at_a_time import OneAtATime
from adapters.vectors.cosines import Lesson
from adapters.vectors.made_for import MadeFor
from adapters.vectors.stored_vectors import finite
from adapters.vectors.vector_tiers import EXACT_BYTES, VectorTiers
from application.learner.ports import StoredVectors, VectorHit, VectorIndex
from domain.learner.lesson import Bin

_GROUPS: Final = {Bin.SKILLS: 0, Bin.KNOWLEDGE: 1}
_SHORT_WORK: Final = 6_000_000
"""Multiplications (one and a half milliseconds) for which no thread is woken: that takes a part of it, and the rest of
the service does little meanwhile.
"""

_APPLIED_AT_ONCE: Final = 256
"""Lessons; searches get their turn in between."""

Result = TypeVar("Result")


class MemoryVectorIndex(VectorIndex):
    """Private to the process and empty at its start. Exact up to `exact_bytes` of vectors; see `VectorTiers`."""

    def __init__(self, exact_bytes: int = EXACT_BYTES) -> None:
        self._exact_bytes = exact_bytes
        self._turns = OneAtATime()
        self._made_for = MadeFor("no embedder", 0)
        self._revision = 0
        self._vectors = VectorTiers(0, exact_bytes)

    async def prepare(self, embedder: str, dimension: int) -> int:
        if len(self._vectors):
            self._made_for.check(MadeFor(embedder, dimension))
        elif MadeFor(embedder, dimension) != self._made_for:
            await self.reset(embedder, dimension)
        return self._revision

    async def reset(self, embedder: str, dimension: int) -> None:
        def emptied() -> None:
            self._made_for, self._revision = MadeFor(embedder, dimension), 0
            self._vectors = VectorTiers(dimension, self._exact_bytes)

        await self._turns.at_once(emptied)

    async def nearest(self, query: bytes, limit: int, bin: Bin | None = None) -> Sequence[VectorHit]:
        def found() -> list[tuple[str, float]]:
            self._made_for.check_query(query)
            group = None if bin is None else _GROUPS[bin]
            return self._vectors.nearest(finite(query, self._made_for.dimension)[0], limit, group)

        hits = await self._worked(self._vectors.search_work, found)
        return [VectorHit(lesson_id=lesson_id, similarity=cosine) for lesson_id, cosine in hits]

    async def similarities(self, query: bytes, lesson_ids: Sequence[str]) -> dict[str, float]:
        def found() -> dict[str, float]:
            self._made_for.check_query(query)
            return self._vectors.cosines(finite(query, self._made_for.dimension)[0], lesson_ids)

        return await self._worked(len(lesson_ids) * self._made_for.dimension, found)

    async def apply(self, put: Sequence[StoredVectors], remove: Sequence[str], revision: int) -> None:
        """Raises `EmbedderMismatch`, with nothing applied, for vectors of another embedder or dimension."""
        self._made_for.check_stored(put)
        for start in range(0, len(remove), _APPLIED_AT_ONCE):
            await self._remove(remove[start : start + _APPLIED_AT_ONCE])
        for start in range(0, len(put), _APPLIED_AT_ONCE):
            await self._put(put[start : start + _APPLIED_AT_ONCE])
        self._revision = revision

    async def _remove(self, lesson_ids: Sequence[str]) -> None:
        await self._worked(len(lesson_ids) * self._made_for.dimension, lambda: self._vectors.remove(lesson_ids))

    async def _put(self, lessons: Sequence[StoredVectors]) -> None:
        def put() -> None:
            self._vectors.put([_lesson(stored) for stored in lessons])

        await self._worked(self._vectors.put_work(sum(stored.count for stored in lessons)), put)

    async def _worked(self, work: int, call: Callable[[], Result]) -> Result:
        if work <= _SHORT_WORK:
            return await self._turns.at_once(call)
        return await self._turns.in_thread(call)


def _lesson(stored: StoredVectors) -> Lesson:
    return Lesson(stored.lesson_id, _GROUPS[stored.bin], finite(stored.data, stored.dimension))
