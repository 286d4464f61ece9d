"""A vector index that computes every cosine anew."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from application.learner.ports import StoredVectors, VectorHit, VectorIndex
from domain.errors import EmbedderMismatch
from domain.learner.lesson import Bin


class FakeVectorIndex(VectorIndex):
    def __init__(self) -> None:
        self._made_for = ("", 0)
        self._revision = 0
        self._lessons: dict[str, StoredVectors] = {}

    async def prepare(self, embedder: str, dimension: int) -> int:
        if self._lessons:
            self._check(embedder, dimension)
        elif (embedder, dimension) != self._made_for:
            await self.reset(embedder, dimension)
        return self._revision

    async def reset(self, embedder: str, dimension: int) -> None:
        self._made_for = (embedder, dimension)
        self._revision = 0
        self._lessons = {}

    async def nearest(self, query: bytes, limit: int, bin: Bin | None = None) -> Sequence[VectorHit]:
        ids = [one.lesson_id for one in self._lessons.values() if bin is None or one.bin is bin]
        cosines = await self.similarities(query, ids)
        hits = [VectorHit(lesson_id=lesson_id, similarity=cosine) for lesson_id, cosine in cosines.items()]
        return sorted(hits, key=lambda hit: (-hit.similarity, hit.lesson_id))[: max(limit, 0)]

    async def similarities(self, query: bytes, lesson_ids: Sequence[str]) -> dict[str, float]:
        self._check(self._made_for[0], len(query) // 4)
        known = [self._lessons[lesson_id] for lesson_id in lesson_ids if lesson_id in self._lessons]
        return {one.lesson_id: max(_cosine(query, vector) for vector in _vectors(one)) for one in known}

    async def apply(self, put: Sequence[StoredVectors], remove: Sequence[str], revision: int) -> None:
        for one in put:
            self._check(one.embedder, one.dimension)
        for lesson_id in (*remove, *(one.lesson_id for one in put)):
            self._lessons.pop(lesson_id, None)
        self._lessons.update({one.lesson_id: one for one in put if one.count})
        self._revision = revision

    def _check(self, embedder: str, dimension: int) -> None:
        if (embedder, dimension) != self._made_for:
            raise EmbedderMismatch(
                f"made for {self._made_for}, not for {(embedder, dimension)}: rebuild it with `memorygrid reindex`"
            )


def _vectors(stored: StoredVectors) -> list[bytes]:
    size = 4 * stored.dimension
    return [stored.data[start : start + size] for start in range(0, len(stored.data), size)]


def _cosine(left: bytes, right: bytes) -> float:
    pairs = zip(struct.iter_unpack("<f", left), struct.iter_unpack("<f", right), strict=True)
    return min(1.0, max(-1.0, math.fsum(one * other for (one,), (other,) in pairs)))
