"""From the nearest vectors to the nearest lessons, of which each has several vectors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from application.learner.ports import VectorHit

_VECTORS_A_LESSON: Final = 4
_ROUNDING: Final = 1e-6


class NearestVectors(NamedTuple):
    """Lesson ids with cosines, best first. `there_are_more`: a larger number might have found others."""

    rows: Sequence[tuple[str, float]]
    there_are_more: bool


async def best_sections(
    nearest_vectors: Callable[[int], Awaitable[NearestVectors]], limit: int, most: int
) -> list[VectorHit]:
    """Up to `limit` lessons, each by its best vector, best first, equal ones by id.

    `nearest_vectors` finds the so many nearest vectors, at most `most`. It is asked for more until enough lessons are
    among them, and none that is as similar as the last one may be missing.
    """
    if limit <= 0:
        return []
    asked = min(limit * _VECTORS_A_LESSON, most)
    while True:
        rows, there_are_more = await nearest_vectors(asked)
        best: dict[str, float] = {}
        for lesson_id, similarity in rows:
            best[lesson_id] = max(similarity, best.get(lesson_id, -1.0))
        order = sorted(best.items(), key=lambda one: (-one[1], one[0]))[:limit]
        is_enough = len(order) == limit and rows[-1][1] < order[-1][1] - _ROUNDING
        if is_enough or not there_are_more or asked == most:
            return [VectorHit(lesson_id=lesson_id, similarity=similarity) for lesson_id, similarity in order]
        asked = min(asked * 4, most)
