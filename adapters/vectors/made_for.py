"""Which embedder's vectors an index holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from application.learner.ports import StoredVectors
from domain.errors import EmbedderMismatch


class MadeFor(msgspec.Struct, frozen=True):
    """An embedder's name and the dimension of its vectors. Every check raises `EmbedderMismatch`, naming both sides."""

    embedder: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.embedder} ({self.dimension} dimensions)"

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that tell it from others, for names within a store."""
        return hashlib.sha256(f"{self.embedder}\0{self.dimension}".encode()).hexdigest()[:8]

    def check(self, other: MadeFor) -> None:
        """That `other` is the same."""
        if other != self:
            raise EmbedderMismatch(
                f"the vector index holds vectors of {self}, not of {other}: "
                "go back to that embedder, or rebuild the index with `memorygrid reindex`"
            )

    def check_query(self, query: bytes) -> None:
        """That it is one vector of this dimension."""
        if len(query) != 4 * self.dimension:
            raise EmbedderMismatch(
                f"the query has {len(query) / 4:g} dimensions, the vector index is made for {self}: "
                "rebuild it with `memorygrid reindex`"
            )

    def check_stored(self, lessons: Iterable[StoredVectors]) -> None:
        """That all of them are of this embedder."""
        for stored in lessons:
            self.check(MadeFor(stored.embedder, stored.dimension))
