"""A stretch of memory that holds vectors in half the room, and their sign codes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from adapters.vectors.cosines import Cosines, Rows, Vectors
from adapters.vectors.sign_codes import BITS, WORDS, Codes, Distances, distances
from adapters.vectors.vector_block import GONE

_FINE: Final = WORDS - 4
"""Words of a code that few rows are compared by. By the others every row is: they lie in one column a row, so that all
of a word is read in one sweep.
"""

FAR: Final = BITS - 64 * _FINE + 1
"""The distance of a row that is not asked for: more than that of any other. 255: it fits into a byte."""

_STEPS: Final = 32_767

_SLICE: Final = 128
"""Rows whose cosines are computed together, in the processor's cache."""


class CodedBlock:
    """Rows of 16-bit whole numbers with one scale each: a cosine is off by less than 1e-5."""

    ROWS: Final = 65_536

    def __init__(self, dimension: int) -> None:
        self._steps = np.empty((self.ROWS, dimension), np.int16)
        self._scales = np.empty(self.ROWS, np.float32)
        self._coarse = np.empty((WORDS - _FINE, self.ROWS), np.uint64)
        self._fine = np.empty((self.ROWS, _FINE), np.uint64)
        self._groups = np.full(self.ROWS, GONE, np.int8)
        self.owners = np.empty(self.ROWS, np.int32)
        self.used = 0
        self._has_gone = False

    def write(self, rows: slice, vectors: Vectors, codes: Codes, group: int, owner: int) -> None:
        scales = np.maximum(np.abs(vectors).max(axis=1), np.finfo(np.float32).tiny) / np.float32(_STEPS)
        self._steps[rows] = np.rint(vectors / scales[:, np.newaxis])
        self._scales[rows] = scales
        self._coarse[:, rows] = codes[:, _FINE:].T
        self._fine[rows] = codes[:, :_FINE]
        self._groups[rows] = group
        self.owners[rows] = owner
        self.used = max(self.used, rows.stop)

    def forget(self, rows: slice) -> None:
        self._groups[rows] = GONE
        self._has_gone = True

    def cosines(self, rows: Rows, query: Vectors) -> Cosines:
        cosines = self._scales.take(rows)
        for start in range(0, len(rows), _SLICE):
            part = slice(start, start + _SLICE)
            cosines[part] *= np.vecdot(self._steps.take(rows[part], axis=0).astype(np.float32), query)
        return cosines

    def coarse(self, code: Codes, group: int | None) -> Distances:
        """Each row's distance by the last words, `FAR` where it is gone or in another group."""
        found = distances(self._coarse[:, : self.used], code[0, _FINE:])
        if group is None and not self._has_gone:
            return found
        groups = self._groups[: self.used]
        np.putmask(found, groups == GONE if group is None else groups != group, FAR)
        return found

    def fine(self, code: Codes, rows: Rows) -> NDArray[np.uint16]:
        """The distance of each of these rows by the other words."""
        counts = np.bitwise_count(self._fine.take(rows, axis=0) ^ code[0, :_FINE])
        found: NDArray[np.uint16] = np.add.reduce(np.ascontiguousarray(counts.T), axis=0, dtype=np.uint16)
        return found
