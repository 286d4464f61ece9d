"""An embedder that counts words."""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Sequence
from operator import mul

from application.shared.ports import Embedder


class FakeEmbedder(Embedder):
    @property
    def name(self) -> str:
        return "fake-words-v1"

    @property
    def dimension(self) -> int:
        return 64

    @property
    def relevance_floor(self) -> float:
        return 0.1

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        return [self._vector(re.findall(r"\w+", text.casefold())) for text in texts]

    def mean(self, vectors: Sequence[bytes], weights: Sequence[int]) -> bytes:
        rows = [struct.unpack(f"<{self.dimension}f", vector) for vector in vectors]
        return self._of_length_1([math.fsum(map(mul, weights, column)) for column in zip(*rows, strict=True)])

    def _vector(self, words: Sequence[str]) -> bytes:
        counts = [0.0] * self.dimension
        for word in words:
            counts[zlib.crc32(word.encode("utf-8", "surrogatepass")) % self.dimension] += 1.0
        return self._of_length_1(counts)

    def _of_length_1(self, numbers: Sequence[float]) -> bytes:
        length = math.sqrt(math.fsum(number * number for number in numbers)) or 1.0
        return struct.pack(f"<{self.dimension}f", *(number / length for number in numbers))
