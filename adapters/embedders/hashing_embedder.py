"""An embedder without a model: words, word pairs and character n-grams, hashed into a fixed number of dimensions.

Signed feature hashing (Weinberger et al., 2009) keeps inner products unbiased; character n-grams of lengths 3 to 5
with word boundaries (Bojanowski et al., 2017) tie inflected and misspelt words together. Each of the three kinds of
features is brought to unit length before they are added, so that a kind's share of the cosine does not depend on how
many features of it a text has.

All sums run over whole numbers below 2**53 and are therefore exact in any order; what follows are single correctly
rounded operations. So the same text gives the same bytes on every machine, run and NumPy.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from adapters.embedders.words import content_words
from application.shared.ports import Embedder

_Floats = NDArray[np.float64]
_Hashes = NDArray[np.uint32]

_WORDS_SHARE: Final = 1.0
_PAIRS_SHARE: Final = 0.5
_GRAMS_SHARE: Final = 0.7
_GRAM_LENGTHS: Final = (3, 4, 5)
_UNIT: Final = 1 << 10
_FINE: Final = 1 << 18
_INLINE_CHARACTERS: Final = 2_000


class HashingEmbedder(Embedder):
    """See the module. Needs no file, no network and no start-up time."""

    @property
    def name(self) -> str:
        return "hashing-v1"

    @property
    def dimension(self) -> int:
        return 1_024

    @property
    def relevance_floor(self) -> float:
        return 0.1

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Short input is computed at once (a thread would cost more than it frees), the rest in a worker thread."""
        if sum(map(len, texts)) <= _INLINE_CHARACTERS:
            return self._embed_all(texts)
        return await run_sync(self._embed_all, texts)

    def _embed_all(self, texts: Sequence[str]) -> list[bytes]:
        return [_vector(content_words(text), self.dimension).astype("<f4").tobytes() for text in texts]


def _vector(words: Sequence[str], dimension: int) -> _Floats:
    """float64[dimension] of length 1, or zeros where there is no word."""
    total = np.zeros(dimension)
    if not words:
        return total
    counts = Counter(words)
    for share, (hashes, weights) in (
        (_WORDS_SHARE, _word_features(counts)),
        (_PAIRS_SHARE, _pair_features(words)),
        (_GRAMS_SHARE, _gram_features(counts)),
    ):
        hashed = _fold(hashes, weights, dimension)
        squared = float(hashed @ hashed)
        if squared > 0:
            total += hashed * (share / math.sqrt(squared))
    whole = np.rint(total * _FINE)
    squared = float(whole @ whole)
    return whole / math.sqrt(squared) if squared > 0 else whole


def _fold(hashes: _Hashes, weights: _Floats, dimension: int) -> _Floats:
    """Adds each weight, with the sign that its hash's top bit says, to the bucket that the other bits say."""
    signs = 1.0 - 2.0 * (hashes >> np.uint32(31))
    buckets = (hashes % np.uint32(dimension)).astype(np.intp)
    return np.bincount(buckets, weights * signs, dimension).astype(np.float64, copy=False)


def _word_features(counts: Counter[str]) -> tuple[_Hashes, _Floats]:
    return np.array([_hash(word) for word in counts], np.uint32), _damped(counts)


def _pair_features(words: Sequence[str]) -> tuple[_Hashes, _Floats]:
    counts = Counter(pairwise(words))
    hashes = [_mix(_hash(left) * 0x9E3779B1 + _hash(right)) for left, right in counts]
    return np.array(hashes, np.uint32), _damped(counts)


def _gram_features(counts: Counter[str]) -> tuple[_Hashes, _Floats]:
    grams = [_grams(word) for word in counts]
    sizes = [len(hashes) for hashes in grams]
    return np.concatenate(grams), np.repeat(np.rint(_damped(counts) / np.sqrt(sizes)), sizes)


def _damped(counts: Counter[str] | Counter[tuple[str, str]]) -> _Floats:
    """A feature's weight grows with the square root of how often it occurs (in whole numbers)."""
    damped: _Floats = np.rint(np.sqrt(np.array(list(counts.values()), np.float64)) * _UNIT)
    return damped


@lru_cache(maxsize=16_384)
def _grams(word: str) -> _Hashes:
    """The hashes of a word's character n-grams, at least one."""
    bounded = f"<{word}>"
    grams = [bounded[at : at + size] for size in _GRAM_LENGTHS for at in range(len(bounded) - size + 1)]
    return np.array([_hash("#" + gram) for gram in grams or [bounded]], np.uint32)


def _hash(feature: str) -> int:
    return _mix(zlib.crc32(feature.encode("utf-8", "surrogatepass")))


def _mix(number: int) -> int:
    """MurmurHash3's finaliser: every bit of a 32-bit number sways every other."""
    number &= 0xFFFFFFFF
    number = ((number ^ (number >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    number = ((number ^ (number >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return number ^ (number >> 16)
