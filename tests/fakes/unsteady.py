"""Indices and an embedder that count their calls, and fail when a test says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from application.learner.ports import LessonText, StoredVectors, TextHit, VectorHit
from domain.errors import EmbedderUnavailable, VectorsUnavailable
from domain.learner.lesson import Bin
from tests.fakes.fake_embedder import FakeEmbedder
from tests.fakes.fake_text_index import FakeTextIndex
from tests.fakes.fake_vector_index import FakeVectorIndex


class UnsteadyEmbedder(FakeEmbedder):
    """`away` makes every call fail; `embedded` are the texts of all calls, in order."""

    def __init__(self, name: str = "fake-words-v1") -> None:
        self.away = False
        self.embedded: list[str] = []
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        if self.away:
            raise EmbedderUnavailable("the fake embedder is away")
        self.embedded.extend(texts)
        return await super().embed(texts)


class UnsteadyVectorIndex(FakeVectorIndex):
    """`away` makes every call fail, `fails` the calls of these names; `calls` counts them by name.

    An `apply` that brings nothing is a `settle`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.fails: set[str] = set()
        self.calls: Counter[str] = Counter()

    async def prepare(self, embedder: str, dimension: int) -> int:
        self._called("prepare")
        return await super().prepare(embedder, dimension)

    async def nearest(self, query: bytes, limit: int, bin: Bin | None = None) -> Sequence[VectorHit]:
        self._called("nearest")
        return await super().nearest(query, limit, bin)

    async def similarities(self, query: bytes, lesson_ids: Sequence[str]) -> dict[str, float]:
        self._called("similarities")
        return await super().similarities(query, lesson_ids)

    async def apply(self, put: Sequence[StoredVectors], remove: Sequence[str], revision: int) -> None:
        self._called("apply" if put or remove else "settle")
        await super().apply(put, remove, revision)

    async def reset(self, embedder: str, dimension: int) -> None:
        self._called("reset")
        await super().reset(embedder, dimension)

    def _called(self, name: str) -> None:
        self.calls[name] += 1
        if self.away or name in self.fails:
            raise VectorsUnavailable("the fake vector index is away")


class CountingTextIndex(FakeTextIndex):
    """`calls` counts the calls by name."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    async def apply(self, put: Sequence[LessonText], remove: Sequence[str]) -> None:
        self.calls["apply"] += 1
        await super().apply(put, remove)

    async def containing(self, query: str, bin: Bin | None = None) -> Sequence[TextHit]:
        self.calls["containing"] += 1
        return await super().containing(query, bin)
