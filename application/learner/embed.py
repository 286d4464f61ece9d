"""Embeddings of lessons and of queries: which texts are embedded, and how lessons' vectors are kept."""

from __future__ import annotations

from collections.abc import Sequence

from application.learner.ports import StoredVectors
from application.shared.ports import Embedder
from domain.learner.lesson import PromotedLesson
from domain.learner.query_parts import parts
from domain.learner.sections import texts_to_embed


class EmbedLessons:
    """Computes the vectors of promoted copies, all texts of a call in one batch. Raises `EmbedderUnavailable`."""

    def __init__(self, *, embedder: Embedder) -> None:
        self._embedder = embedder

    async def __call__(self, copies: Sequence[PromotedLesson]) -> list[StoredVectors]:
        texts = [texts_to_embed(copy.title, copy.body) for copy in copies]
        vectors = iter(await self._embedder.embed([text for of_one in texts for text in of_one]))
        return [
            StoredVectors(
                lesson_id=copy.id,
                bin=copy.bin,
                embedder=self._embedder.name,
                dimension=self._embedder.dimension,
                count=len(of_one),
                data=b"".join(next(vectors) for _ in of_one),
            )
            for copy, of_one in zip(copies, texts, strict=True)
        ]


async def embedded_query(embedder: Embedder, text: str) -> bytes:
    """The vector of a text whose lines stand for themselves: see `query_parts`. Raises `EmbedderUnavailable`."""
    found = parts(text)
    vectors = await embedder.embed([part.text for part in found])
    return vectors[0] if len(found) == 1 else embedder.mean(vectors, [part.words for part in found])
