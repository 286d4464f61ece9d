"""The vector index, kept in step with the object store's promoted copies."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import anyio

from application.learner.embed import EmbedLessons
from application.learner.ports import CatalogDelta, CatalogItem, LessonStore, StoredVectors, VectorIndex
from application.shared.ports import Embedder
from domain.errors import EmbedderUnavailable, VectorsUnavailable

_log = logging.getLogger(__name__)
#: Copies in one portion of changes.
BATCH = 500
#: Seconds that matching waits for an index that does not answer; what it missed is made up for by `catch_up`.
_PATIENCE_S = 5.0


class VectorsInStep:
    """Takes changes over into the index, in their order and one at a time. `problem` says why it is behind."""

    def __init__(self, *, store: LessonStore, vectors: VectorIndex, embedder: Embedder, embed: EmbedLessons) -> None:
        self.problem: str | None = None
        self._store = store
        self._vectors = vectors
        self._embedder = embedder
        self._embed = embed
        self._at: int | None = None
        self._lock = anyio.Lock()

    async def follow(self, delta: CatalogDelta, since: int) -> None:
        """Takes over what changed after revision `since`, unless the index is behind already.

        A running process waits a few seconds at most (`since` is below 0 in one that starts).
        Raises `StoreUnavailable`.
        """
        if self.problem is not None:
            return
        try:
            with anyio.fail_after(_PATIENCE_S if since >= 0 else None):
                async with self._lock:
                    await self._take_over(delta, max(since, 0))
        except (VectorsUnavailable, EmbedderUnavailable) as error:
            self._could_not_follow(error.detail)
        except TimeoutError:
            self._could_not_follow(f"it did not take a change over within {_PATIENCE_S:g} s")

    async def catch_up(self, revision: int) -> int:
        """Brings the index to this revision of the object store, however long it takes; how many portions that were.

        The index is asked for its revision each time, so that one that went away or was emptied is noticed also where
        there is nothing to take over. Raises `StoreUnavailable`, `EmbedderMismatch`.
        """
        portions = 0
        async with self._lock:
            try:
                if self._at is not None:
                    self._at = await self._vectors.prepare(self._embedder.name, self._embedder.dimension)
                reflected = await self._reflected()
                while reflected < revision:
                    reflected = await self._apply(await self._delta(reflected))
                    portions += 1
                self.problem = None
            except (VectorsUnavailable, EmbedderUnavailable) as error:
                self._behind(error.detail)
        return portions

    async def rebuild(self) -> int:
        """Embeds every promoted copy with this embedder and fills the index anew; how many lessons that were.

        Raises `StoreUnavailable`, `VectorsUnavailable`, `EmbedderUnavailable`; what was embedded until then is kept.
        """
        await self._embedder.open()
        await self._vectors.reset(self._embedder.name, self._embedder.dimension)
        self._at = None
        reflected, count, complete = 0, 0, False
        while not complete:
            delta = await self._delta(reflected)
            await self._vectors.apply(await self._with_vectors(delta.promoted), delta.removed, delta.revision)
            reflected, complete = delta.revision, delta.complete
            count += len(delta.promoted)
        await self._store.forget_vectors(keep=self._embedder.name)
        self._at = reflected
        return count

    async def _take_over(self, delta: CatalogDelta, since: int) -> None:
        reflected = await self._reflected()
        if reflected < since:
            self.problem = "the vector index is behind and will be brought up to date"
        elif reflected < delta.revision:
            await self._apply(delta)

    async def _apply(self, delta: CatalogDelta) -> int:
        await self._vectors.apply(await self._with_vectors(delta.promoted), delta.removed, delta.revision)
        self._at = delta.revision
        return delta.revision

    async def _delta(self, since: int) -> CatalogDelta:
        return await self._store.changes_since(since, self._embedder.name, BATCH)

    async def _reflected(self) -> int:
        """The revision that the vector index reflects. One that is ahead of the object store belonged to another store
        (the database was replaced, or restored from a backup): it is emptied and built anew.
        """
        if self._at is None:
            await self._embedder.open()
            reflected = await self._vectors.prepare(self._embedder.name, self._embedder.dimension)
            if reflected and reflected > await self._store.revision():
                _log.warning("the vector index is of another object store: it will be rebuilt")
                await self._vectors.reset(self._embedder.name, self._embedder.dimension)
                reflected = 0
            self._at = reflected
        return self._at

    async def _with_vectors(self, items: Sequence[CatalogItem]) -> list[StoredVectors]:
        missing = [item.copy for item in items if item.vectors is None]
        embedded = await self._embed(missing) if missing else []
        if embedded:
            pairs = zip(missing, embedded, strict=True)
            await self._store.put_vectors([CatalogItem(copy=copy, vectors=vectors) for copy, vectors in pairs])
        return [item.vectors for item in items if item.vectors is not None] + embedded

    def _could_not_follow(self, why: str) -> None:
        _log.warning("the vector index could not follow: %s", why)
        self._behind(why)

    def _behind(self, why: str) -> None:
        """The index is asked anew what it reflects: another process may have emptied or filled it in the meantime."""
        self.problem = why
        self._at = None
