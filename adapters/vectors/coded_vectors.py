"""Nearest lessons among very many: candidates by sign codes, then their cosines. Not for several threads at once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adapters.vectors.coded_block import FAR, CodedBlock
from adapters.vectors.cosines import Cosines, Lesson, Rows, Vectors, best_cosines, first
from adapters.vectors.sign_codes import BITS, Codes, Distances, SignCoder

_CANDIDATES: Final = 192
_CANDIDATES_A_HIT: Final = 6
"""Vectors whose cosines are computed: so many for each hit that is asked for, and at least so many."""

_WIDER: Final = 16
"""So many times as many at most where the last hit is not clearly within them, as among lessons of many sections, or
where many vectors are about as near: a model whose texts are all alike to it, or a crowded topic.
"""

_CLEARLY: Final = 2.0
"""Standard deviations of a code's distance: of vectors as near as the last hit, about one in 44 is farther by that."""

_SHARE_COMPARED: Final = 24
_FEWEST_COMPARED: Final = 6
_MOST_COMPARED: Final = 24
"""One vector in 24 is compared by its whole code: at least 6 for each candidate, and at most 24."""

_SAMPLED: Final = 16


class _Place(NamedTuple):
    block: CodedBlock
    rows: slice
    owner: int
    group: int


class _Candidates(NamedTuple):
    """Rows by their lessons' numbers and their cosines. `most` is the largest distance of a code among them."""

    owners: NDArray[np.int32]
    cosines: Cosines
    most: int


class CodedVectors:
    """Lessons with their vectors in 2.2 bytes a number.

    The nearest ten are found with a recall of 0.99 and more where vectors lie in topics, as texts' do; with one of 0.97
    where all lie close together in a few directions. Vectors that lie anywhere have no near ones, and are found less.

    A change touches the lesson's own rows only; the room that a removal leaves is used again. What is found depends on
    the vectors and not on when they came.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._coder = SignCoder(dimension)
        self._blocks: list[CodedBlock] = []
        self._places: dict[str, _Place] = {}
        self._owners: list[str] = []
        self._free_owners: list[int] = []
        self._free_rows: dict[int, list[tuple[CodedBlock, int]]] = defaultdict(list)
        self.rows = 0

    def __len__(self) -> int:
        return len(self._places)

    @property
    def blocks(self) -> int:
        """How many stretches of memory are in use."""
        return len(self._blocks)

    def put(self, lessons: Sequence[Lesson]) -> None:
        """Adds or replaces lessons; one without any vector is just removed."""
        if not lessons:
            return
        codes = self._coder.codes(np.concatenate([lesson.vectors for lesson in lessons]))
        end = 0
        for lesson in lessons:
            start, end = end, end + len(lesson.vectors)
            self.remove(lesson.id)
            if start < end:
                self._write(lesson, codes[start:end])

    def remove(self, lesson_id: str) -> None:
        """No error where it is not there."""
        place = self._places.pop(lesson_id, None)
        if place is None:
            return
        place.block.forget(place.rows)
        count = place.rows.stop - place.rows.start
        self._free_rows[count].append((place.block, place.rows.start))
        self._free_owners.append(place.owner)
        self.rows -= count

    def nearest(self, query: Vectors, limit: int, group: int | None) -> list[tuple[str, float]]:
        """Up to `limit` lessons with their best cosine, best first, equal ones by id."""
        if limit <= 0 or not self._places:
            return []
        if not query.any():
            alike = (one for one, place in self._places.items() if group is None or place.group == group)
            return first(dict.fromkeys(alike, 0.0), limit)
        likely = self._likely(query, limit, group)
        return first(self.cosines(query, [self._owners[owner] for owner in likely]), limit)

    def cosines(self, query: Vectors, lesson_ids: Iterable[str]) -> dict[str, float]:
        """The best cosine of each of these lessons that is there."""
        there: dict[CodedBlock, list[tuple[str, slice]]] = defaultdict(list)
        for lesson_id in lesson_ids:
            place = self._places.get(lesson_id)
            if place is not None:
                there[place.block].append((lesson_id, place.rows))
        found: dict[str, float] = {}
        for block, lessons in there.items():
            found.update(best_cosines(lessons, partial(block.cosines, query=query)))
        return found

    def _write(self, lesson: Lesson, codes: Codes) -> None:
        count = len(lesson.vectors)
        block, start = self._room(count)
        place = _Place(block, slice(start, start + count), self._new_owner(lesson.id), lesson.group)
        block.write(place.rows, lesson.vectors, codes, lesson.group, place.owner)
        self._places[lesson.id] = place
        self.rows += count

    def _likely(self, query: Vectors, limit: int, group: int | None) -> list[int]:
        """The numbers of the lessons that are most likely the nearest: `limit` of them, wherever there are so many."""
        code = self._coder.codes(query[np.newaxis])
        coarse = [block.coarse(code, group) for block in self._blocks]
        wanted = fewest = max(_CANDIDATES, _CANDIDATES_A_HIT * limit)
        while True:
            found = self._candidates(query, code, coarse, wanted)
            likely, least = _nearest_owners(found.owners, found.cosines, limit)
            is_enough = len(likely) >= limit and (wanted >= _WIDER * fewest or _is_within(least, found.most))
            if is_enough or len(found.owners) < wanted:
                return likely
            wanted *= 2

    def _candidates(self, query: Vectors, code: Codes, coarse: Sequence[Distances], wanted: int) -> _Candidates:
        """About `wanted` rows that are most likely the nearest; fewer only where there are no more."""
        share = min(self.rows // _SHARE_COMPARED, _MOST_COMPARED * wanted)
        rows = _closest(coarse, max(share, _FEWEST_COMPARED * wanted))
        whole = [
            distances.take(chosen) + block.fine(code, chosen)
            for block, distances, chosen in zip(self._blocks, coarse, rows, strict=True)
        ]
        most = _nth(np.concatenate(whole), wanted)
        kept = [chosen[some <= most] for chosen, some in zip(rows, whole, strict=True)]
        pairs = list(zip(self._blocks, kept, strict=True))
        owners = np.concatenate([block.owners.take(chosen) for block, chosen in pairs])
        return _Candidates(owners, np.concatenate([block.cosines(chosen, query) for block, chosen in pairs]), most)

    def _room(self, count: int) -> tuple[CodedBlock, int]:
        """Where so many rows can be written: in the smallest gap that is large enough, else at the end."""
        fitting = min((size for size, gaps in self._free_rows.items() if gaps and size >= count), default=None)
        if fitting is not None:
            block, start = self._free_rows[fitting].pop()
            if fitting > count:
                self._free_rows[fitting - count].append((block, start + count))
            return block, start
        if not self._blocks or self._blocks[-1].used + count > CodedBlock.ROWS:
            self._blocks.append(CodedBlock(self._dimension))
        return self._blocks[-1], self._blocks[-1].used

    def _new_owner(self, lesson_id: str) -> int:
        if not self._free_owners:
            self._owners.append("")
            self._free_owners.append(len(self._owners) - 1)
        owner = self._free_owners.pop()
        self._owners[owner] = lesson_id
        return owner


def _nearest_owners(owners: NDArray[np.int32], cosines: Cosines, limit: int) -> tuple[list[int], float]:
    """The `limit` owners whose best cosine is largest, and those with an equal one; the cosine of the last of them."""
    likely: dict[int, None] = {}
    least = -np.inf
    order = np.argsort(-cosines)
    for owner, cosine in zip(owners.take(order).tolist(), cosines.take(order).tolist(), strict=True):
        if cosine < least:
            break
        likely[owner] = None
        if len(likely) == limit:
            least = cosine
    return list(likely), least


def _is_within(cosine: float, most: int) -> bool:
    """Whether the code of a vector with this cosine is hardly ever farther than `most` from the query's."""
    differing = math.acos(min(max(cosine, -1.0), 1.0)) / math.pi
    return BITS * differing + _CLEARLY * math.sqrt(BITS * differing * (1.0 - differing)) <= most


def _nth(distances: NDArray[np.uint16], wanted: int) -> int:
    """The `wanted`-th smallest; where there are fewer, the largest that there can be."""
    return int(np.partition(distances, wanted - 1)[wanted - 1]) if wanted <= len(distances) else BITS


def _closest(distances: Sequence[Distances], wanted: int) -> list[Rows]:
    """Of each list the positions of those that are among the `wanted` smallest of all, or as small as the last."""
    most = FAR - 1
    if _within(distances, most) > wanted:
        most = _guess(distances, wanted)
        while most > 0 and _within(distances, most - 1) >= wanted:
            most -= 1
        while _within(distances, most) < wanted:
            most += 1
    return [np.flatnonzero(some <= most) for some in distances]


def _guess(distances: Sequence[Distances], wanted: int) -> int:
    """About the `wanted`-th smallest distance, judged by a part of them."""
    counts = np.bincount(np.concatenate([some[::_SAMPLED] for some in distances]), minlength=FAR)
    return min(int(np.searchsorted(np.cumsum(counts), wanted / _SAMPLED)), FAR - 1)


def _within(distances: Sequence[Distances], most: int) -> int:
    return sum(int(np.count_nonzero(some <= most)) for some in distances)
