"""BM25 over words that somebody else has found. Additions and removals are incremental."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75
"""k1 and b as in Robertson and Zaragoza, *The Probabilistic Relevance Framework* (2009)."""

_ROOM: Final = 1_024
"""Of words, at first."""


class _Words(NamedTuple):
    """`counts` is uint32[2, n]: the numbers of the n distinct words of a lesson, and how often each occurs in it."""

    counts: NDArray[np.uint32]
    length: int


class Bm25:
    """How often each word occurs in each lesson, and in how many lessons. Not for several threads at once."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._lessons_with = np.zeros(_ROOM, np.int64)
        self._words_of: dict[str, _Words] = {}
        self._total_length = 0

    def put(self, lessons: Mapping[str, Sequence[str]]) -> None:
        """Adds or replaces lessons, whose words these are."""
        for lesson_id in lessons:
            self.remove(lesson_id)
        counts = [Counter(words) for words in lessons.values()]
        sizes = [len(of_one) for of_one in counts]
        distinct = sum(sizes)
        numbers = np.fromiter(map(self._numbers.__getitem__, chain.from_iterable(counts)), np.uint32, distinct)
        times = np.fromiter(chain.from_iterable(of_one.values() for of_one in counts), np.uint32, distinct)
        self._make_room()
        np.add.at(self._lessons_with, numbers, 1)
        table, end = np.stack([numbers, times]), 0
        for (lesson_id, words), size in zip(lessons.items(), sizes, strict=True):
            self._words_of[lesson_id] = _Words(table[:, end : end + size].copy(), len(words))
            self._total_length += len(words)
            end += size

    def remove(self, lesson_id: str) -> None:
        """No error where it is not there."""
        words = self._words_of.pop(lesson_id, None)
        if words is not None:
            self._lessons_with[words.counts[0]] -= 1
            self._total_length -= words.length

    def scores(self, words: Iterable[str], lesson_ids: Iterable[str]) -> dict[str, float]:
        """The score of each of these lessons that is there; 0 where no word is common."""
        known = [lesson_id for lesson_id in dict.fromkeys(lesson_ids) if lesson_id in self._words_of]
        asked, weights = self._weights(words)
        if not known or not len(asked):
            return dict.fromkeys(known, 0.0)
        counted = [self._words_of[lesson_id] for lesson_id in known]
        numbers, times = np.concatenate([words.counts for words in counted], axis=1)
        owners = np.repeat(np.arange(len(known)), [words.counts.shape[1] for words in counted])
        at = np.minimum(np.searchsorted(asked, numbers), len(asked) - 1)
        common = asked[at] == numbers
        owners, times = owners[common], times[common]
        lengths = np.array([words.length for words in counted]) * (len(self._words_of) / self._total_length)
        penalties = _SATURATION * (1.0 - _LENGTH_SHARE + _LENGTH_SHARE * lengths)
        parts = weights[at[common]] * times * (_SATURATION + 1.0) / (times + penalties[owners])
        return dict(zip(known, np.bincount(owners, parts, len(known)).tolist(), strict=True))

    def _weights(self, words: Iterable[str]) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """The numbers of those words that some lesson has, ascending, and the inverse document frequency of each."""
        numbers = sorted({self._numbers[word] for word in words if word in self._numbers})
        asked = np.array(numbers, np.uint32)
        having = self._lessons_with[asked]
        asked, having = asked[having > 0], having[having > 0]
        weights: NDArray[np.float64] = np.log1p((len(self._words_of) - having + 0.5) / (having + 0.5))
        return asked, weights

    def _make_room(self) -> None:
        """For a count of each word that has a number."""
        room = len(self._lessons_with)
        if len(self._numbers) > room:
            wanted = max(2 * room, len(self._numbers))
            self._lessons_with = np.concatenate([self._lessons_with, np.zeros(wanted - room, np.int64)])


class _Numbers(dict[str, int]):
    """The number of each word: a new one where it is asked for."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number
