"""BM25 over words that somebody else has found. Additions and removals are incremental."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75
"""k1 and b as in Robertson and Zaragoza, *The Probabilistic Relevance Framework* (2009)."""


class _Words(NamedTuple):
    """`counts` is uint32[2, n]: the numbers of the n distinct words of a lesson, and how often each occurs in it."""

    counts: NDArray[np.uint32]
    length: int


class Bm25:
    """How often each word occurs in each lesson, and in how many lessons. Not for several threads at once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._lessons_with: list[int] = []
        self._words_of: dict[str, _Words] = {}
        self._total_length = 0

    def put(self, lesson_id: str, words: Sequence[str]) -> None:
        """Adds or replaces a lesson."""
        self.remove(lesson_id)
        counts = Counter(words)
        known = self._numbers
        numbers = [known[word] if word in known else self._new_number(word) for word in counts]
        for number in numbers:
            self._lessons_with[number] += 1
        self._words_of[lesson_id] = _Words(np.array([numbers, list(counts.values())], np.uint32), len(words))
        self._total_length += len(words)

    def remove(self, lesson_id: str) -> None:
        """No error where it is not there."""
        if lesson_id not in self._words_of:
            return
        words = self._words_of.pop(lesson_id)
        for number in words.counts[0].tolist():
            self._lessons_with[number] -= 1
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
        asked = np.array([number for number in numbers if self._lessons_with[number]], np.uint32)
        having = np.array([self._lessons_with[number] for number in asked.tolist()], np.float64)
        weights: NDArray[np.float64] = np.log1p((len(self._words_of) - having + 0.5) / (having + 0.5))
        return asked, weights

    def _new_number(self, word: str) -> int:
        self._numbers[word] = number = len(self._lessons_with)
        self._lessons_with.append(0)
        return number
