"""Bit signatures of texts: which lessons may contain a query, found without reading any text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

    def add(self, columns: Sequence[int], texts: Sequence[str]) -> None:
        """Each text into an empty column of its own; many at once take far less time than one after the other."""
        of_octet: dict[int, list[tuple[int, str]]] = {}
        for column, text in zip(columns, texts, strict=True):
            of_octet.setdefault(column >> 3, []).append((0x80 >> (column & 7), text))
        for octet, added in of_octet.items():
            marks, together = zip(*added, strict=True)
            found = _found_in(together).view(np.uint8)
            marked = np.bitwise_or.reduce(found * np.array(marks, np.uint8)[:, np.newaxis], axis=0)
            having = np.flatnonzero(marked)
            self._bits[having, octet] |= marked[having]

    def clear(self, column: int) -> None:
        self._bits[:, column >> 3] &= np.uint8(0xFF ^ (0x80 >> (column & 7)))

    def may_contain(self, asked: Buckets) -> list[int]:
        """The columns that have all of these buckets (`asked_of` a query), in order."""
        columns: list[int] = np.flatnonzero(np.unpackbits(np.bitwise_and.reduce(self._bits[asked]))).tolist()
        return columns


def asked_of(query: str) -> Buckets:
    """The buckets that every text containing `query` has: of its longest n-grams, and not of too many."""
    points = _points(query[:_ASKED])
    *_, longest = _hashes(points)
    return np.unique(longest).astype(np.intp)


def _found_in(texts: Sequence[str]) -> NDArray[np.bool_]:
    """bool[len(texts), buckets]: which buckets the n-grams of each text fall into."""
    points = _points("".join(texts))
    rows = np.repeat(np.arange(len(texts)) << _BUCKET_BITS, [len(text) for text in texts])
    found = np.zeros(len(texts) << _BUCKET_BITS, np.bool_)
    for hashes in _hashes(points):
        first, last = rows[: len(hashes)], rows[len(rows) - len(hashes) :]
        found[(first + hashes)[first == last]] = True
    return found.reshape(len(texts), 1 << _BUCKET_BITS)


def _points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _hashes(points: NDArray[np.uint32]) -> Iterator[NDArray[np.uint32]]:
    """The buckets of the n-grams of each length that there are, by multiply-shift hashing of their code points."""
    total = np.zeros(len(points), np.uint32)
    for size in range(1, min(_LONGEST, len(points)) + 1):
        total = total[: len(points) - size + 1] + points[size - 1 :] * _FACTORS[size - 1]
        yield total >> np.uint32(32 - _BUCKET_BITS)
