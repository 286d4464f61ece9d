"""The vector index, kept in step with the object store's promoted copies."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import anyio

from application.learner.embed import EmbedLessons
from application.learner.ports import CatalogDelta, CatalogItem, LessonStore, StoredVectors, VectorIndex
from application.shared.ports import Embedder
from domain.errors import EmbedderMismatch, EmbedderUnavailable, VectorsUnavailable

_log = logging.getLogger(__name__)

#: The next portion of what changed in the object store after a catalog revision.
Changes = Callable[[int], Awaitable[CatalogDelta]]
#: Seconds that matching waits for what does not take a change over; it is made up for by `catch_up`.
PATIENCE_S = 5.0
#: Why derived data are behind that will follow in the reconciler's next round.
BEHIND = "it is behind and will be brought up to date"


class VectorsInStep:
    """Takes changes over into the index, in their order and one at a time, up to the catalog's `revision`.

    `problem` says why the index is behind, `mismatch` that the stored vectors are another embedder's.
    """

    def __init__(
        self,
        *,
        store: LessonStore,
        vectors: VectorIndex,
        embedder: Embedder,
        embed: EmbedLessons,
        changes: Changes,
        revision: Callable[[], int],
    ) -> None:
        self.problem: str | None = None
        self.mismatch: str | None = None
        self._store = store
        self._vectors = vectors
        self._embedder = embedder
        self._embed = embed
        self._changes = changes
        self._revision = revision
        self._at: int | None = None
        self._of_another_store = False
        self._is_settled = False
        self._lock = anyio.Lock()

    async def check(self) -> None:
        """Raises `EmbedderMismatch` where all that is stored was embedded by another embedder."""
        stored = await self._store.embedders()
        self.mismatch = None
        if stored and self._embedder.name not in {name for name, _ in stored}:
            others = ", ".join(f"{name} ({dimension} dimensions)" for name, dimension in stored)
            self.mismatch = (
                f"the promoted lessons were embedded by {others}, and MG_EMBEDDER now gives {self._embedder.name}: "
                "go back to that embedder, or run `memorygrid reindex`"
            )
            raise EmbedderMismatch(self.mismatch)

    async def follow(self, delta: CatalogDelta, since: int) -> None:
        """Takes over what changed after revision `since`, unless the index is behind already.

        A running process waits a few seconds at most, and notes a mismatch; one that starts (`since` is below 0) raises
        `EmbedderMismatch`. Raises `StoreUnavailable`.
        """
        if self.problem is not None or self.mismatch is not None:
            return
        try:
            with anyio.fail_after(PATIENCE_S if since >= 0 else None):
                async with self._turn():
                    await self._take_over(delta, max(since, 0))
        except (VectorsUnavailable, EmbedderUnavailable) as error:
            self._could_not_follow(error.detail)
        except TimeoutError:
            self._could_not_follow(f"it did not take a change over within {PATIENCE_S:g} s")
        except EmbedderMismatch as error:
            if since < 0:
                raise
            _log.error("the vector index cannot follow: %s", error.detail)

    async def catch_up(self) -> int:
        """Brings the index to the catalog's revision, however long it takes; how many portions that were.

        The index is asked for its revision each time, so that one that went away or was emptied is noticed also where
        there is nothing to take over. Raises `StoreUnavailable`, `EmbedderMismatch`.
        """
        portions = 0
        try:
            async with self._turn():
                if self._at is not None:
                    self._at = await self._vectors.prepare(self._embedder.name, self._embedder.dimension)
                while (reflected := await self._reflected()) < self._revision():
                    delta = await self._changes(reflected)
                    if delta.revision <= reflected:
                        self.problem = BEHIND
                        return portions
                    await self._apply(delta)
                    portions += 1
                await self._settle(reflected)
                self.problem = self.mismatch = None
        except (VectorsUnavailable, EmbedderUnavailable) as error:
            self.problem = error.detail
        return portions

    async def rebuild(self, told: Callable[[int, int], None]) -> int:
        """Embeds every promoted copy with this embedder and fills the index anew; how many lessons that were.

        `told` hears after each portion which revision of the object store the index has come to, and of how many.
        Raises `StoreUnavailable`, `VectorsUnavailable`, `EmbedderUnavailable`; what was embedded until then is kept.
        """
        async with self._turn():
            await self._embedder.open()
            await self._reset()
            newest = await self._store.revision()
            reflected, count, complete = 0, 0, False
            while not complete:
                delta = await self._changes(reflected)
                reflected, complete = await self._apply(delta), delta.complete
                count += len(delta.promoted)
                told(reflected, max(reflected, newest))
            await self._settle(reflected)
            await self._store.forget_vectors(keep=self._embedder.name)
            self.mismatch = None
            self.problem = None if reflected >= self._revision() else BEHIND
        return count

    def start_over(self) -> None:
        """The object store is another one: what the index holds will be emptied and filled anew."""
        self._of_another_store = True

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """After whoever did not come to an end the index is asked anew what it reflects: part of it may be done, and
        another process may have emptied or filled it.
        """
        async with self._lock:
            try:
                yield
            except BaseException as error:
                self._at = None
                if isinstance(error, EmbedderMismatch):
                    self.mismatch = error.detail
                raise

    async def _take_over(self, delta: CatalogDelta, since: int) -> None:
        reflected = await self._reflected()
        if reflected < since:
            self.problem = BEHIND
        elif reflected < delta.revision:
            await self._apply(delta)

    async def _apply(self, delta: CatalogDelta) -> int:
        put = await self._with_vectors(delta.promoted)
        self._is_settled = False
        await self._vectors.apply(put, delta.removed, delta.revision)
        self._at = delta.revision
        return delta.revision

    async def _settle(self, reflected: int) -> None:
        """Nothing more comes for now: what an index leaves undone while much comes at once is done (`apply`).

        Also once in a process that has taken over nothing, since an earlier one may have ended before it; and again
        where it failed.
        """
        if reflected and not self._is_settled:
            await self._vectors.apply([], [], reflected)
            self._is_settled = True

    async def _reflected(self) -> int:
        """The revision that the vector index reflects. One that is ahead of the object store belonged to another store
        (the database was replaced, or restored from a backup): it is emptied and built anew.
        """
        if self._at is None or self._of_another_store:
            await self._embedder.open()
            reflected = await self._vectors.prepare(self._embedder.name, self._embedder.dimension)
            if self._of_another_store or (reflected and reflected > await self._store.revision()):
                _log.warning("the vector index is of another object store: it will be rebuilt")
                await self._reset()
                reflected = 0
            self._at = reflected
        return self._at

    async def _reset(self) -> None:
        self._is_settled = False
        await self._vectors.reset(self._embedder.name, self._embedder.dimension)
        self._at = None
        self._of_another_store = False

    async def _with_vectors(self, items: Sequence[CatalogItem]) -> list[StoredVectors]:
        missing = [item.copy for item in items if item.vectors is None]
        embedded = await self._embed(missing) if missing else []
        if embedded:
            pairs = zip(missing, embedded, strict=True)
            await self._store.put_vectors([CatalogItem(copy=copy, vectors=vectors) for copy, vectors in pairs])
        return [item.vectors for item in items if item.vectors is not None] + embedded

    def _could_not_follow(self, why: str) -> None:
        _log.warning("the vector index could not follow: %s", why)
        self.problem = why
