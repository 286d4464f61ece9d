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
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from adapters.embedders.numpy_means import NumpyMeans
from adapters.embedders.words import content_words

_Floats = NDArray[np.float64]
_Hashes = NDArray[np.uint32]

_DIMENSION: Final = 1_024
_SHARES: Final = np.sqrt([4.0, 1.0, 2.0])
"""Of words, pairs and n-grams: where two texts have all of one kind in common, it makes up 4, 1 or 2 sevenths."""

_ODD: Final = np.uint32(0x9E3779B1)
_GRAM_LENGTHS: Final = (3, 4, 5)
_UNIT: Final = 1 << 10
_FINE: Final = 1 << 18
_INLINE_CHARACTERS: Final = 2_000


class HashingEmbedder(NumpyMeans):
    """See the module. Needs no file, no network and no start-up time."""

    @property
    def name(self) -> str:
        return "hashing-v1"

    @property
    def dimension(self) -> int:
        return _DIMENSION

    @property
    def relevance_floor(self) -> float:
        """Measured by `tests/bench/quality.py` on a catalog of about a hundred lessons."""
        return 0.28

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Short input is computed at once (a thread would cost more than it frees), the rest in a worker thread."""
        if sum(map(len, texts)) <= _INLINE_CHARACTERS:
            return self._embed_all(texts)
        return await run_sync(self._embed_all, texts)

    def _embed_all(self, texts: Sequence[str]) -> list[bytes]:
        return [_vector(content_words(text)).astype("<f4").tobytes() for text in texts]


def _vector(words: Sequence[str]) -> _Floats:
    """float64[_DIMENSION] of length 1, or zeros where there is no word."""
    if not words:
        return np.zeros(_DIMENSION)
    kinds = _hashed_kinds(words)
    lengths = np.sqrt(np.add.reduce(kinds * kinds, axis=1))
    scales = np.divide(_SHARES, lengths, out=np.zeros(len(_SHARES)), where=lengths > 0)
    total: _Floats = np.rint(np.add.reduce(kinds * scales[:, np.newaxis], axis=0) * _FINE)
    length = math.sqrt(float(np.add.reduce(total * total)))
    return total / (length or 1.0)


def _hashed_kinds(words: Sequence[str]) -> _Floats:
    """float64[3, _DIMENSION]: the sums of the signed weights of words, pairs and n-grams, in whole numbers."""
    times: dict[str, int] = {}
    for word in words:
        times[word] = times.get(word, 0) + 1
    features = {word: _features(word) for word in times}
    word_hashes = np.array([features[word][0] for word in times], np.uint32)
    word_weights = np.sqrt(np.array(list(times.values()), np.float64)) * _UNIT

    in_order = np.array([features[word][0] for word in words], np.uint32)
    pair_hashes, pair_times = np.unique(_mixed(in_order[:-1] * _ODD + in_order[1:]), return_counts=True)

    grams = [features[word][1] for word in times]
    sizes = np.array([len(hashes) for hashes in grams])
    gram_weights = np.repeat(word_weights / np.sqrt(sizes), sizes)

    hashes = np.concatenate([word_hashes, pair_hashes, *grams])
    weights = np.rint(np.concatenate([word_weights, np.sqrt(pair_times) * _UNIT, gram_weights]))
    kinds = np.repeat(np.arange(3), [len(word_hashes), len(pair_hashes), sizes.sum()])
    signed = np.where(hashes >> np.uint32(31), -weights, weights)
    buckets = kinds * _DIMENSION + hashes % np.uint32(_DIMENSION)
    return np.bincount(buckets, signed, 3 * _DIMENSION).astype(np.float64, copy=False).reshape(3, _DIMENSION)


@lru_cache(maxsize=16_384)
def _features(word: str) -> tuple[int, _Hashes]:
    """The hash of a word, and those of its character n-grams (one at least)."""
    bounded = f"<{word}>"
    grams = [bounded[at : at + size] for size in _GRAM_LENGTHS for at in range(len(bounded) - size + 1)]
    keys = [word, *("#" + gram for gram in grams or [bounded])]
    hashes = _mixed(np.array([zlib.crc32(key.encode("utf-8", "surrogatepass")) for key in keys], np.uint32))
    return int(hashes[0]), hashes[1:]


def _mixed(numbers: _Hashes) -> _Hashes:
    """MurmurHash3's finaliser: every bit of a 32-bit number sways every other."""
    mixed: _Hashes = (numbers ^ (numbers >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed
