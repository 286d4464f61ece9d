"""Bit signatures of texts: which lessons may contain a query, found without reading any text."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Buckets = NDArray[np.intp]
"""intp[n]: the distinct buckets that a text's n-grams of characters fall into."""

_BUCKET_BITS: Final = 12
_LONGEST: Final = 3
_FACTORS: Final = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], np.uint32)
_ASKED: Final = 64


class GramBlock:
    """A row of bits for each bucket, with a column for each lesson: set where the lesson's text has such an n-gram.

    A text that contains a query has all of the query's n-grams. (The converse does not hold; see Zobel and Moffat,
    *Inverted files for text search engines*, 2006, on signatures.) 4,096 buckets take 512 bytes a lesson.
    """

    LESSONS: Final = 8_192

    def __init__(self) -> None:
        self._bits = np.zeros((1 << _BUCKET_BITS, self.LESSONS // 8), np.uint8)

    def add(self, column: int, text: str) -> None:
        """Into an empty column."""
        self._bits[_buckets(text, 1, _LONGEST), column >> 3] |= np.uint8(0x80 >> (column & 7))

    def clear(self, column: int) -> None:
        self._bits[:, column >> 3] &= np.uint8(0xFF ^ (0x80 >> (column & 7)))

    def may_contain(self, asked: Buckets) -> list[int]:
        """The columns that have all of these buckets (`asked_of` a query), in order."""
        columns: list[int] = np.flatnonzero(np.unpackbits(np.bitwise_and.reduce(self._bits[asked]))).tolist()
        return columns


def asked_of(query: str) -> Buckets:
    """The buckets that every text containing `query` has: of its longest n-grams, and not of too many."""
    longest = min(len(query), _LONGEST)
    return _buckets(query[:_ASKED], longest, longest)


def _buckets(text: str, shortest: int, longest: int) -> Buckets:
    """The buckets of the n-grams of these lengths, by multiply-shift hashing of their code points."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    hashes = []
    total = np.zeros(len(points), np.uint32)
    for size in range(1, min(longest, len(points)) + 1):
        total = total[: len(points) - size + 1] + points[size - 1 :] * _FACTORS[size - 1]
        if size >= shortest:
            hashes.append(total >> np.uint32(32 - _BUCKET_BITS))
    found = np.zeros(1 << _BUCKET_BITS, np.bool_)
    for some in hashes:
        found[some] = True
    return np.flatnonzero(found)
