"""Search over the promoted lessons: text match and similarity, as `docs/matching.md` tells it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import Enum

import msgspec

from application.learner.catalog import Catalog
from application.learner.embed import embedded_query
from application.learner.ports import LessonStore, TextIndex, VectorHit, VectorIndex
from application.learner.remembered_copies import RememberedCopies
from application.shared.ports import Embedder
from domain.errors import EmbedderMismatch, EmbedderUnavailable, VectorsUnavailable
from domain.learner.lesson import Bin, PromotedLesson
from domain.learner.ranking import RERANKED, SearchHit, clamped, contenders, fused, ranked

#: More of the nearest are fetched than are asked for: mostly, that shows at once where equal similarities end.
_MARGIN = 14


class SearchKind(str, Enum):
    """`hybrid` lets the words' BM25 score reorder the most similar lessons, `vector` does not (`MG_SEARCH`)."""

    HYBRID = "hybrid"
    VECTOR = "vector"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A hit with its promoted copy."""

    hit: SearchHit
    copy: PromotedLesson


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """Best first. `degraded` says why similarities are missing: the vector index or the embedder is away, or the index
    is another embedder's.
    """

    found: Sequence[Found]
    degraded: str | None = None


class SearchLessons:
    """Finds promoted lessons. The object store decides: a hit whose promoted copy is gone is no hit.

    Raises `StoreUnavailable`, and `EmbedderMismatch` where nothing can be found without similarities.
    """

    def __init__(
        self,
        *,
        catalog: Catalog,
        store: LessonStore,
        vectors: VectorIndex,
        texts: TextIndex,
        embedder: Embedder,
        kind: SearchKind = SearchKind.HYBRID,
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._remembered = RememberedCopies(store=store, catalog=catalog)
        self._vectors = vectors
        self._texts = texts
        self._embedder = embedder
        self._kind = kind

    async def __call__(self, query: str, bin: Bin | None, limit: int) -> SearchResult:
        """Up to `limit` hits of one bin (None: of both): text matches with score 1.0, then by similarity."""
        await self._catalog.refresh()
        texts = {hit.lesson_id: hit.in_title for hit in await self._texts.containing(query, bin)}
        try:
            cosines = await self._cosines(query, bin, limit, list(texts))
            degraded = None
        except (VectorsUnavailable, EmbedderUnavailable, EmbedderMismatch) as error:
            if isinstance(error, EmbedderMismatch) and not texts:
                raise
            cosines, degraded = {}, error.detail
        copies = await self._contending(texts, cosines, limit)
        hits = ranked(copies.values(), texts, cosines)[:limit]
        return SearchResult(found=[Found(hit=hit, copy=copies[hit.lesson_id]) for hit in hits], degraded=degraded)

    async def most_similar(self, text: str, limit: int) -> SearchResult:
        """The `limit` most similar lessons of both bins, whatever their cosine, as the language model is offered them.

        Each line of `text` is a value of its own. Copies are remembered: another process's decision counts from when
        the catalog has heard of it. Raises `VectorsUnavailable`, `EmbedderUnavailable`.
        """
        await self._catalog.refresh()
        if not len(self._catalog):
            return SearchResult(found=())
        query = await embedded_query(self._embedder, text)
        considered = max(limit, RERANKED)
        cosines = await self._first(query, considered)
        order = list(cosines)
        if self._kind is SearchKind.HYBRID:
            order = fused(cosines, await self._texts.lexical(text, order))
        copies = await self._remembered(order[:limit])
        if len(copies) < len(order[:limit]):
            copies = await self._remembered(order)
        found = [self._found(copies[one], cosines[one]) for one in order if one in copies][:limit]
        return SearchResult(found=found)

    async def _contending(
        self, texts: dict[str, bool], cosines: dict[str, float], limit: int
    ) -> dict[str, PromotedLesson]:
        """The copies that may be among the first; a hit whose copy is gone is forgotten and takes nobody's place."""
        while True:
            wanted = contenders(texts, cosines, limit)
            copies = await self._store.copies(wanted)
            gone = [lesson_id for lesson_id in wanted if lesson_id not in copies]
            if not gone:
                return copies
            for lesson_id in gone:
                texts.pop(lesson_id, None)
                cosines.pop(lesson_id, None)

    async def _cosines(self, query: str, bin: Bin | None, limit: int, matches: Sequence[str]) -> dict[str, float]:
        vector = (await self._embedder.embed([query]))[0]
        cosines = await self._nearest(vector, bin, limit)
        unknown = [lesson_id for lesson_id in matches if lesson_id not in cosines]
        if unknown:
            cosines.update(await self._vectors.similarities(vector, unknown))
        return cosines

    async def _first(self, query: bytes, limit: int) -> dict[str, float]:
        """The `limit` nearest promoted lessons of both bins, in the index's order."""
        self._catalog.check_embedder()
        asked = limit
        while True:
            hits = await self._vectors.nearest(query, asked)
            live = {hit.lesson_id: hit.similarity for hit in hits if self._is_promoted(hit.lesson_id, None)}
            if len(hits) < asked or len(live) >= limit:
                return dict(itertools.islice(live.items(), limit))
            asked *= 2

    async def _nearest(self, query: bytes, bin: Bin | None, limit: int) -> dict[str, float]:
        """The `limit` nearest promoted lessons, all that are as near as the last of them, and maybe more, in order.

        What an index still holds of others takes nobody's place.
        """
        self._catalog.check_embedder()
        asked = limit + _MARGIN
        while True:
            hits = await self._vectors.nearest(query, asked, bin)
            live = [hit for hit in hits if self._is_promoted(hit.lesson_id, bin)]
            if len(hits) < asked or _are_all(live, limit):
                return {hit.lesson_id: hit.similarity for hit in live}
            asked *= 2

    def _is_promoted(self, lesson_id: str, bin: Bin | None) -> bool:
        promotion = self._catalog.promotion(lesson_id)
        return promotion is not None and bin in (None, promotion.bin)

    @staticmethod
    def _found(copy: PromotedLesson, cosine: float) -> Found:
        similarity = clamped(cosine)
        hit = SearchHit(
            lesson_id=copy.id, bin=copy.bin, title=copy.title, score=similarity, text_match=False, similarity=similarity
        )
        return Found(hit=hit, copy=copy)


def _are_all(hits: Sequence[VectorHit], limit: int) -> bool:
    """Whether no hit beyond these can be as near as number `limit` of them (one without similarity is no hit)."""
    if len(hits) <= limit:
        return False
    last = hits[max(limit, 1) - 1].similarity
    return last <= 0.0 or hits[-1].similarity < last
