"""An embedder that counts words."""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Sequence

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

    def _vector(self, words: Sequence[str]) -> bytes:
        counts = [0.0] * self.dimension
        for word in words:
            counts[zlib.crc32(word.encode("utf-8", "surrogatepass")) % self.dimension] += 1.0
        length = math.sqrt(math.fsum(count * count for count in counts)) or 1.0
        return struct.pack(f"<{self.dimension}f", *(count / length for count in counts))
