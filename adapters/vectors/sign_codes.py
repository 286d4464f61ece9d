"""Vectors as 1,022 bits each: the signs of random projections.

The more bits of two vectors differ, the larger the angle between them (Charikar, *Similarity estimation techniques from
rounding algorithms*, 2002); that the projections are orthogonal makes the estimate sharper. Nothing is learned from the
vectors, so that additions and removals never make the codes worse.

The projections are those of three rounds of random signs and a Hadamard transform (Andoni et al., *Practical and
optimal LSH for angular distance*, 2015): a hundredth of a dense matrix's products, and none of its megabytes to read.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from adapters.vectors.cosines import Vectors

WORDS: Final = 16
"""uint64 words of a code."""

BITS: Final = 64 * WORDS - 2
"""Two of the last word are always 0, so that a distance by the last four words fits into a byte, with one to spare."""

Codes = NDArray[np.uint64]
"""uint64[n, WORDS]: one row a vector."""

Distances = NDArray[np.uint8]
"""How many bits each of n codes has other than the query's, in a part of 255 bits at most."""

_ROUNDS: Final = 3
_SLICE: Final = 16_384


class SignCoder:
    """Makes the codes of one dimension's vectors, the same in every process (but for products that are almost 0)."""

    def __init__(self, dimension: int) -> None:
        exponent = (max(dimension, 64 * WORDS) - 1).bit_length()
        self._left, self._right = _hadamard(exponent // 2), _hadamard(exponent - exponent // 2)
        signs = np.random.default_rng(dimension).integers(0, 2, (_ROUNDS, 1 << exponent))
        self._signs = (2 * signs - 1).astype(np.float32).reshape(_ROUNDS, len(self._left), len(self._right))

    def codes(self, vectors: Vectors) -> Codes:
        """Of float32[n, dimension]. The matrix products are too small to wake threads for."""
        turned = np.zeros((len(vectors), self._signs[0].size), np.float32)
        turned[:, : vectors.shape[1]] = vectors
        turned = turned.reshape(-1, *self._signs[0].shape)
        for signs in self._signs:
            turned = self._left @ (turned * signs) @ self._right
        return np.packbits(turned.reshape(-1, self._signs[0].size)[:, :BITS] > 0.0, axis=1).view(np.uint64)


def _hadamard(exponent: int) -> NDArray[np.float32]:
    """Of 2**exponent rows, scaled to be a rotation. A larger one is the product of two such, to the left and right."""
    matrix: NDArray[np.float32] = np.ones((1, 1), np.float32)
    for _ in range(exponent):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    matrix /= np.sqrt(np.float32(len(matrix)))
    return matrix


def distances(columns: NDArray[np.uint64], code: NDArray[np.uint64]) -> Distances:
    """Of uint64[words, n], one column a vector, from uint64[words]; no more than 255 bits may differ.

    In slices that stay in the processor's cache, together with what is made of them.
    """
    found = np.empty(columns.shape[1], np.uint8)
    other = np.empty((len(columns), _SLICE), np.uint64)
    counts = np.empty(other.shape, np.uint8)
    for start in range(0, len(found), _SLICE):
        part = columns[:, start : start + _SLICE]
        size = part.shape[1]
        np.bitwise_xor(part, code[:, np.newaxis], out=other[:, :size])
        np.bitwise_count(other[:, :size], out=counts[:, :size])
        np.add.reduce(counts[:, :size], axis=0, dtype=np.uint8, out=found[start : start + size])
    return found
