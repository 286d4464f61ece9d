"""What the embedders of this package have in common: means of vectors, by NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from application.shared.ports import Embedder


class NumpyMeans(Embedder):
    """An embedder still has to say how it embeds."""

    def mean(self, vectors: Sequence[bytes], weights: Sequence[int]) -> bytes:
        """Summed in float64 in the order given, so that it is the same on every machine."""
        rows = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1).astype(np.float64)
        total = np.add.reduce(rows * np.array(weights, np.float64)[:, np.newaxis], axis=0)
        length = float(np.sqrt(np.add.reduce(total * total)))
        mean: NDArray[np.float32] = (total / (length or 1.0)).astype("<f4")
        return mean.tobytes()
