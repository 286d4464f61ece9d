"""The promoted lessons as matching sees them, kept up to date from the object store.

The object store decides; the vector index, the text index and the lessons folder are derived from it. Each carries the
catalog revision that it reflects and gets what is newer: after every decision in this process, when the watch has seen
another process stir, and by the reconciler, so that a crash or a failed write in between heals by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

import anyio
import msgspec

from application.learner.embed import EmbedLessons
from application.learner.ports import (
    CatalogDelta,
    CatalogItem,
    CatalogWatch,
    LessonFiles,
    LessonStore,
    LessonText,
    StoredVectors,
    TextIndex,
    VectorIndex,
)
from application.shared.ports import Embedder
from domain.errors import EmbedderMismatch, EmbedderUnavailable, StoreUnavailable, VectorsUnavailable
from domain.learner.lesson import Bin

_log = logging.getLogger(__name__)
_BATCH = 500


class Promotion(msgspec.Struct, frozen=True):
    """What ranking needs to know of a promoted copy."""

    bin: Bin
    promoted_at: datetime


class Catalog:
    """Which lessons are promoted, at which revision, with the derived indices in step."""

    def __init__(
        self,
        *,
        store: LessonStore,
        watch: CatalogWatch,
        vectors: VectorIndex,
        texts: TextIndex,
        files: LessonFiles,
        embedder: Embedder,
        embed: EmbedLessons,
    ) -> None:
        self._store = store
        self._watch = watch
        self._vectors = vectors
        self._texts = texts
        self._files = files
        self._embedder = embedder
        self._embed = embed
        self._promotions: dict[str, Promotion] = {}
        self._revision = -1
        self._edition = 0
        self._seen: int | None = None
        self._vectors_at: int | None = None
        self._lock = anyio.Lock()
        self._problems: dict[str, str] = {}

    @property
    def revision(self) -> int:
        """The catalog revision that matching sees; it moves whenever a promoted copy changes."""
        return self._revision

    @property
    def problems(self) -> dict[str, str]:
        """Which derived data are behind, and why: `vectors`, `embedder`, `lessons_folder`. Empty when all is well."""
        return dict(self._problems)

    def __len__(self) -> int:
        return len(self._promotions)

    def promotion(self, lesson_id: str) -> Promotion | None:
        """The promoted copy's bin and date, or None: it is not promoted, whatever an index says."""
        return self._promotions.get(lesson_id)

    async def refresh(self, *, force: bool = False) -> int:
        """Brings everything up to date where something has stirred. Raises `StoreUnavailable`.

        Answers the edition: a number that moves whenever a search may find something else than before.
        """
        if not force and self._seen == self._watch.look():
            return self._edition
        async with self._lock:
            look = self._watch.look()
            if force or self._seen != look:
                if self._revision < 0 or await self._store.revision() != self._revision:
                    await self._follow()
                self._seen = look
        return self._edition

    async def reconcile(self) -> None:
        """Lets derived data that are behind catch up. Raises `StoreUnavailable`, `EmbedderMismatch`."""
        await self.refresh(force=True)
        async with self._lock:
            await self._catch_up_vectors()
            await self._catch_up_files()

    async def reindex(self) -> int:
        """Embeds every promoted copy with this embedder and rebuilds the vector index; how many lessons that were.

        Raises `StoreUnavailable`, `VectorsUnavailable`, `EmbedderUnavailable`; what was embedded until then is kept.
        """
        await self._embedder.open()
        await self._vectors.reset(self._embedder.name, self._embedder.dimension)
        self._vectors_at = None
        reflected, count, complete = 0, 0, False
        while not complete:
            delta = await self._delta(reflected)
            await self._vectors.apply(await self._with_vectors(delta.promoted), delta.removed, delta.revision)
            reflected, complete = delta.revision, delta.complete
            count += len(delta.promoted)
        await self._store.forget_vectors(keep=self._embedder.name)
        self._vectors_at = reflected
        self._edition += 1
        return count

    async def _check_embedder(self) -> None:
        """Raises `EmbedderMismatch` where all that is stored was embedded by another embedder."""
        stored = await self._store.embedders()
        if stored and self._embedder.name not in {name for name, _ in stored}:
            others = ", ".join(f"{name} ({dimension} dimensions)" for name, dimension in stored)
            raise EmbedderMismatch(
                f"the promoted lessons were embedded by {others}, and MG_EMBEDDER now gives {self._embedder.name}: "
                "go back to that embedder, or run `memorygrid reindex`"
            )

    async def _follow(self) -> None:
        if self._revision < 0:
            await self._check_embedder()
        complete = False
        while not complete:
            delta = await self._delta(max(self._revision, 0))
            complete = delta.complete
            await self._texts.apply([_text(item) for item in delta.promoted], delta.removed)
            await self._apply_vectors(delta)
            self._remember(delta)
        await self._catch_up_files()

    async def _delta(self, since: int) -> CatalogDelta:
        return await self._store.changes_since(since, self._embedder.name, _BATCH)

    def _remember(self, delta: CatalogDelta) -> None:
        for item in delta.promoted:
            self._promotions[item.copy.id] = Promotion(item.copy.bin, item.copy.promoted_at)
        for lesson_id in delta.removed:
            self._promotions.pop(lesson_id, None)
        self._revision = delta.revision
        self._edition += 1

    async def _apply_vectors(self, delta: CatalogDelta) -> None:
        """Takes a delta over into the vector index, unless that is behind already: then the reconciler does."""
        try:
            reflected = await self._reflected_by_vectors()
            if reflected < max(self._revision, 0):
                self._problems.setdefault("vectors", "the vector index is behind and will be brought up to date")
                return
            if reflected < delta.revision:
                await self._vectors.apply(await self._with_vectors(delta.promoted), delta.removed, delta.revision)
                self._vectors_at = delta.revision
        except (VectorsUnavailable, EmbedderUnavailable) as error:
            self._vectors_behind(error.detail)
            _log.warning("the vector index could not follow: %s", error.detail)

    async def _reflected_by_vectors(self) -> int:
        """The revision that the vector index reflects. One that is ahead of the object store belonged to another store
        (the database was replaced, or restored from a backup): it is emptied and built anew.
        """
        if self._vectors_at is None:
            await self._embedder.open()
            reflected = await self._vectors.prepare(self._embedder.name, self._embedder.dimension)
            if reflected and reflected > await self._store.revision():
                _log.warning("the vector index is of another object store: it will be rebuilt")
                await self._vectors.reset(self._embedder.name, self._embedder.dimension)
                reflected = 0
            self._vectors_at = reflected
        return self._vectors_at

    async def _with_vectors(self, items: Sequence[CatalogItem]) -> list[StoredVectors]:
        missing = [item.copy for item in items if item.vectors is None]
        embedded = await self._embed(missing) if missing else []
        if embedded:
            pairs = zip(missing, embedded, strict=True)
            await self._store.put_vectors([CatalogItem(copy=copy, vectors=vectors) for copy, vectors in pairs])
        return [item.vectors for item in items if item.vectors is not None] + embedded

    async def _catch_up_vectors(self) -> None:
        try:
            reflected = await self._reflected_by_vectors()
            while reflected < self._revision:
                delta = await self._delta(reflected)
                await self._vectors.apply(await self._with_vectors(delta.promoted), delta.removed, delta.revision)
                self._vectors_at = reflected = delta.revision
                self._edition += 1
            self._problems.pop("vectors", None)
        except (VectorsUnavailable, EmbedderUnavailable) as error:
            self._vectors_behind(error.detail)

    def _vectors_behind(self, why: str) -> None:
        """The index is asked anew what it reflects: another process may have emptied or filled it in the meantime."""
        self._problems["vectors"] = why
        self._vectors_at = None

    async def _catch_up_files(self) -> None:
        try:
            reflected = await self._files.revision()
            if reflected > self._revision and reflected > await self._store.revision():
                _log.warning("the lessons folder is of another object store: the lessons of this one are added to it")
                reflected = 0
            while reflected < self._revision:
                delta = await self._delta(reflected)
                await self._files.apply([item.copy for item in delta.promoted], delta.removed, delta.revision)
                reflected = delta.revision
            self._problems.pop("lessons_folder", None)
        except StoreUnavailable as error:
            self._problems["lessons_folder"] = error.detail
            _log.warning("the lessons folder could not follow: %s", error.detail)


def _text(item: CatalogItem) -> LessonText:
    copy = item.copy
    return LessonText(lesson_id=copy.id, bin=copy.bin, title=copy.title, body=copy.body)
