"""How much of the exact answer was found: of all vectors by themselves, or of lessons by the best of their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_ROUNDING = 1e-5
_COMPARED = 10


def recall(
    matrix: Vectors, owners: Sequence[str], queries: Sequence[Vectors], found: Sequence[Sequence[str]], top: int
) -> float:
    """The share of the exact `top` nearest that was found, on average over the queries, rounded to four places.

    `matrix` has one vector a row, and `owners` says what each row counts for: a lesson, or the vector itself. What is
    as near as the last of the exact ones counts like it.
    """
    exact = [_exact(matrix @ vector, owners, top) for vector in queries]
    shares = [
        sum(best[owner] >= least for owner in dict.fromkeys(of_one[:top]) if owner in best) / top
        for (best, least), of_one in zip(exact, found, strict=True)
    ]
    return round(float(np.mean(shares)), 4)


def _exact(cosines: Vectors, owners: Sequence[str], top: int) -> tuple[dict[str, float], float]:
    """The nearest owners with their best cosine, and the cosine of the last (a rounding's width is let pass)."""
    best: dict[str, float] = {}
    for at in np.argsort(-cosines, kind="stable")[: top * _COMPARED].tolist():
        best.setdefault(owners[at], float(cosines[at]))
    return best, sorted(best.values(), reverse=True)[min(top, len(best)) - 1] - _ROUNDING
