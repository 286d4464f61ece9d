"""Vectors as the object store keeps them, and as queries come in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def finite(data: bytes, dimension: int) -> NDArray[np.float32]:
    """Little-endian float32 as float32[n, dimension]; what is not finite becomes 0."""
    matrix: NDArray[np.float32] = np.frombuffer(data, "<f4").reshape(-1, dimension)
    return matrix if np.isfinite(matrix).all() else np.nan_to_num(matrix, nan=0.0, posinf=0.0, neginf=0.0)
