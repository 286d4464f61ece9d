"""Vectors as 1,024 bits each: the signs of random projections.

The more bits of two vectors differ, the larger the angle between them (Charikar, *Similarity estimation techniques from
rounding algorithms*, 2002); that the projections are orthogonal makes the estimate sharper. Nothing is learned from the
vectors, so that additions and removals never make the codes worse.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from adapters.vectors.cosines import Vectors

WORDS: Final = 16
"""uint64 words of a code."""

Codes = NDArray[np.uint64]
"""uint64[n, WORDS]: one row a vector."""

Distances = NDArray[np.uint16]
"""How many bits each of n codes has other than the query's."""

_BITS: Final = 64 * WORDS
_SLICE: Final = 8_192

_FEW: Final = 8


class SignCoder:
    """Makes the codes of one dimension's vectors, the same in every process (but for products that are almost 0)."""

    def __init__(self, dimension: int) -> None:
        chance = np.random.default_rng(dimension)
        columns = min(dimension, _BITS)
        rotations = [np.linalg.qr(chance.standard_normal((dimension, columns)))[0] for _ in range(-(-_BITS // columns))]
        self._projections = np.ascontiguousarray(np.concatenate(rotations, axis=1)[:, :_BITS].T, np.float32)

    def codes(self, vectors: Vectors) -> Codes:
        """Of float32[n, dimension]; for a few without the threads that a matrix product would wake."""
        if len(vectors) > _FEW:
            products = vectors @ self._projections.T
        else:
            products = np.vecdot(self._projections, vectors[:, np.newaxis])
        return np.packbits(products > 0.0, axis=1).view(np.uint64)


def distances(columns: NDArray[np.uint64], code: NDArray[np.uint64]) -> Distances:
    """Of uint64[words, n], one column a vector, from uint64[words].

    In slices that stay in the processor's cache, together with what is made of them.
    """
    found = np.empty(columns.shape[1], np.uint16)
    other = np.empty((len(columns), _SLICE), np.uint64)
    counts = np.empty(other.shape, np.uint8)
    for start in range(0, len(found), _SLICE):
        part = columns[:, start : start + _SLICE]
        size = part.shape[1]
        np.bitwise_xor(part, code[:, np.newaxis], out=other[:, :size])
        np.bitwise_count(other[:, :size], out=counts[:, :size])
        np.add.reduce(counts[:, :size], axis=0, dtype=np.uint16, out=found[start : start + size])
    return found
