"""What every embedder makes of a model's numbers: unit vectors, or an error where they are none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from domain.errors import EmbedderUnavailable


def unit_vectors(matrix: NDArray[np.floating], what: str) -> list[bytes]:
    """Each row as little-endian float32 of length 1; a row of zeros stays one.

    Raises `EmbedderUnavailable` where `what` gave numbers that are not finite.
    """
    wide = matrix.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.add.reduce(wide * wide, axis=1, keepdims=True))
    if not np.isfinite(lengths).all():
        raise EmbedderUnavailable(f"{what} gave vectors with numbers that are not finite.")
    unit = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    return [row.astype("<f4").tobytes() for row in unit]
