"""The promoted lessons as matching sees them, kept up to date from the object store.

The object store decides; the vector index, the text index and the lessons folder are derived from it. Each carries the
catalog revision that it reflects and gets what is newer: after every decision in this process, when the watch has seen
another process stir, and by the reconciler, so that a crash or a failed write in between heals by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
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
    TextIndex,
    VectorIndex,
)
from application.learner.vectors_in_step import BATCH, VectorsInStep
from application.shared.ports import Embedder
from domain.errors import EmbedderMismatch, StoreUnavailable
from domain.learner.lesson import Bin

_log = logging.getLogger(__name__)


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
        self._vectors = VectorsInStep(store=store, vectors=vectors, embedder=embedder, embed=embed)
        self._texts = texts
        self._files = files
        self._embedder = embedder
        self._promotions: dict[str, Promotion] = {}
        self._revision = -1
        self._edition = 0
        self._seen: int | None = None
        self._lock = anyio.Lock()
        self._failures = 0
        self._problems: dict[str, str] = {}

    @property
    def revision(self) -> int:
        """The catalog revision that matching sees; it moves whenever a promoted copy changes."""
        return self._revision

    @property
    def problems(self) -> dict[str, str]:
        """Which derived data are behind, and why: `vectors`, `embedder`, `lessons_folder`. Empty when all is well."""
        vectors = {} if self._vectors.problem is None else {"vectors": self._vectors.problem}
        return vectors | self._problems

    def __len__(self) -> int:
        return len(self._promotions)

    def promotion(self, lesson_id: str) -> Promotion | None:
        """The promoted copy's bin and date, or None: it is not promoted, whatever an index says."""
        return self._promotions.get(lesson_id)

    async def refresh(self, *, force: bool = False) -> int:
        """Brings everything up to date where something has stirred. Raises `StoreUnavailable`.

        Answers the edition: a number that moves whenever a search may find something else than before. Whoever waits
        while the object store fails somebody else does not try it for as long once more.
        """
        if not force and self._seen == self._watch.look():
            return self._edition
        failures = self._failures
        async with self._lock:
            if not force and self._failures != failures:
                raise StoreUnavailable("the object store did not answer just now: try again shortly")
            look = self._watch.look()
            if force or self._seen != look:
                await self._ask()
                self._seen = look
        return self._edition

    async def reconcile(self) -> None:
        """Lets derived data that are behind catch up. Raises `StoreUnavailable`, `EmbedderMismatch`."""
        await self.refresh(force=True)
        portions = await self._vectors.catch_up(self._revision)
        self._edition += portions
        async with self._lock:
            await self._catch_up_files({})

    async def reindex(self) -> int:
        """Embeds every promoted copy with this embedder and rebuilds the vector index; how many lessons that were.

        Raises `StoreUnavailable`, `VectorsUnavailable`, `EmbedderUnavailable`; what was embedded until then is kept.
        """
        count = await self._vectors.rebuild()
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

    async def _ask(self) -> None:
        try:
            await self._follow()
        except StoreUnavailable:
            self._failures += 1
            raise

    async def _follow(self) -> None:
        """Takes over what has changed, in portions; most often there is nothing, or one lesson."""
        if self._revision < 0:
            await self._check_embedder()
        complete = False
        while not complete:
            since = max(self._revision, 0)
            delta = await self._delta(since)
            if delta.revision == self._revision:
                return
            await self._texts.apply([_text(item) for item in delta.promoted], delta.removed)
            await self._vectors.follow(delta, self._revision)
            self._remember(delta)
            complete = delta.complete
        await self._catch_up_files({since: delta})

    async def _delta(self, since: int) -> CatalogDelta:
        return await self._store.changes_since(since, self._embedder.name, BATCH)

    def _remember(self, delta: CatalogDelta) -> None:
        for item in delta.promoted:
            self._promotions[item.copy.id] = Promotion(item.copy.bin, item.copy.promoted_at)
        for lesson_id in delta.removed:
            self._promotions.pop(lesson_id, None)
        self._revision = delta.revision
        self._edition += 1

    async def _catch_up_files(self, known: Mapping[int, CatalogDelta]) -> None:
        """`known` holds changes that have been read already, by the revision after which they came."""
        try:
            reflected = await self._files.revision()
            if reflected > self._revision and reflected > await self._store.revision():
                _log.warning("the lessons folder is of another object store: the lessons of this one are added to it")
                reflected = 0
            while reflected < self._revision:
                delta = known.get(reflected) or await self._delta(reflected)
                await self._files.apply([item.copy for item in delta.promoted], delta.removed, delta.revision)
                reflected = delta.revision
            self._problems.pop("lessons_folder", None)
        except StoreUnavailable as error:
            self._problems["lessons_folder"] = error.detail
            _log.warning("the lessons folder could not follow: %s", error.detail)


def _text(item: CatalogItem) -> LessonText:
    copy = item.copy
    return LessonText(lesson_id=copy.id, bin=copy.bin, title=copy.title, body=copy.body)
