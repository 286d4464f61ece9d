"""From the nearest vectors to the nearest lessons, of which each has several vectors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from application.learner.ports import VectorHit

_VECTORS_A_LESSON: Final = 4
_ROUNDING: Final = 1e-6


async def best_sections(
    nearest_vectors: Callable[[int], Awaitable[Sequence[tuple[str, float]]]], limit: int, most: int
) -> list[VectorHit]:
    """Up to `limit` lessons, each by its best vector, best first, equal ones by id.

    `nearest_vectors` gives the so many nearest vectors (at most `most`) as lesson ids with cosines, best first; fewer
    than asked for means that there are no more. It is asked for more until enough lessons are among them, and none
    that is as similar as the last one may be missing.
    """
    if limit <= 0:
        return []
    asked = min(limit * _VECTORS_A_LESSON, most)
    while True:
        rows = await nearest_vectors(asked)
        best: dict[str, float] = {}
        for lesson_id, similarity in rows:
            best[lesson_id] = max(similarity, best.get(lesson_id, -1.0))
        order = sorted(best.items(), key=lambda one: (-one[1], one[0]))[:limit]
        is_enough = len(order) == limit and rows[-1][1] < order[-1][1] - _ROUNDING
        if is_enough or len(rows) < asked or asked == most:
            return [VectorHit(lesson_id=lesson_id, similarity=similarity) for lesson_id, similarity in order]
        asked = min(asked * 4, most)


def finite(data: bytes, dimension: int) -> NDArray[np.float32]:
    """Little-endian float32 as float32[n, dimension]; what is not finite becomes 0."""
    matrix: NDArray[np.float32] = np.frombuffer(data, "<f4").reshape(-1, dimension)
    return matrix if np.isfinite(matrix).all() else np.nan_to_num(matrix, nan=0.0, posinf=0.0, neginf=0.0)
