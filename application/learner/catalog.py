"""The promoted lessons as matching sees them, kept up to date from the object store.

The object store decides; the vector index, the text index and the lessons folder are derived from it. Each carries the
catalog revision that it reflects and gets what is newer: after every decision in this process, when the watch has seen
another process stir, and by the reconciler, so that a crash or a failed write in between heals by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

import anyio
import msgspec

from application.learner.embed import EmbedLessons
from application.learner.files_in_step import FilesInStep
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
from application.learner.vectors_in_step import VectorsInStep
from application.shared.ports import Embedder
from domain.errors import EmbedderMismatch, EmbedderUnavailable, StoreUnavailable, UnknownLesson
from domain.learner.lesson import Bin, PromotedLesson

_log = logging.getLogger(__name__)
#: Copies in one portion of changes.
BATCH = 500


class Promotion(msgspec.Struct, frozen=True):
    """What matching needs to know of a promoted copy."""

    bin: Bin
    version: int


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
        self._vectors = VectorsInStep(
            store=store,
            vectors=vectors,
            embedder=embedder,
            embed=embed,
            changes=self._changes,
            revision=lambda: self._revision,
        )
        self._files = FilesInStep(store=store, files=files, changes=self._changes, revision=lambda: self._revision)
        self._texts = texts
        self._embedder = embedder
        self._promotions: dict[str, Promotion] = {}
        self._revision = -1
        self._edition = 0
        self._seen: int | None = None
        self._lock = anyio.Lock()
        self._failures = 0

    @property
    def revision(self) -> int:
        """The catalog revision that matching sees; it moves whenever a promoted copy changes."""
        return self._revision

    @property
    def problems(self) -> dict[str, str]:
        """What is wrong with derived data, and why; empty when all is well.

        `vectors` and `lessons_folder` are behind; `embedder`: the stored vectors are another one's, or its last
        call failed.
        """
        found = {
            "vectors": self._vectors.problem,
            "embedder": self._vectors.mismatch or self._embedder.problem(),
            "lessons_folder": self._files.problem,
        }
        return {name: why for name, why in found.items() if why is not None}

    def __len__(self) -> int:
        return len(self._promotions)

    def promotion(self, lesson_id: str) -> Promotion | None:
        """The promoted copy's bin and version, or None: it is not promoted, whatever an index says."""
        return self._promotions.get(lesson_id)

    async def still_has(self, copy: PromotedLesson) -> bool:
        """Whether no decision has taken back or replaced a copy that was found a while ago. Raises as `refresh`."""
        await self.refresh()
        promotion = self._promotions.get(copy.id)
        return promotion is not None and promotion.version <= copy.version

    @property
    def is_of_another_embedder(self) -> bool:
        """Whether the stored vectors are known to be another embedder's."""
        return self._vectors.mismatch is not None

    async def was_erased(self, lesson_id: str) -> bool:
        """Whether a lesson that was matched once is there no more. Raises as `refresh`."""
        await self.refresh()
        if lesson_id in self._promotions:
            return False
        try:
            await self._store.get(lesson_id)
        except UnknownLesson:
            return True
        return False

    def check_embedder(self) -> None:
        """Raises `EmbedderMismatch` where the stored vectors are known to be another embedder's."""
        if self._vectors.mismatch is not None:
            raise EmbedderMismatch(self._vectors.mismatch)

    async def refresh(self, *, force: bool = False) -> int:
        """Brings everything up to date where something has stirred.

        Answers the edition: a number that moves whenever a search may find something else than before. Whoever waits
        while the object store fails somebody else does not try it for as long once more. Raises `StoreUnavailable`, and
        until it has succeeded once `EmbedderMismatch`.
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

    async def after_change(self) -> None:
        """Follows a change that this process has stored.

        Where that fails, the change is stored all the same: the next search tries again, and so does the reconciler.
        """
        try:
            await self.refresh(force=True)
        except (StoreUnavailable, EmbedderMismatch) as error:
            self._seen = None
            _log.warning("a change was stored, and matching could not follow: %s", error.detail)

    async def reconcile(self) -> None:
        """Lets derived data that are behind catch up, while matching goes on.

        Raises `StoreUnavailable`, `EmbedderMismatch`.
        """
        await self.refresh(force=True)
        try:
            portions = await self._vectors.catch_up()
            self._edition += portions
        finally:
            await self._files.catch_up()
        await self._try_embedder()

    async def reindex(self, told: Callable[[int, int], None] = lambda _done, _of: None) -> int:
        """Embeds every promoted copy with this embedder and rebuilds the vector index; how many lessons that were.

        `told` hears how far it has come: so many changes of the catalog, of so many.
        Raises `StoreUnavailable`, `VectorsUnavailable`, `EmbedderUnavailable`; what was embedded until then is kept.
        """
        count = await self._vectors.rebuild(told)
        self._edition += 1
        return count

    async def _try_embedder(self) -> None:
        """One that failed is asked again, so that its return is known also where nobody searches."""
        if self._embedder.problem() is not None:
            with suppress(EmbedderUnavailable):
                await self._embedder.embed(["a text to see whether it works"])

    async def _ask(self) -> None:
        try:
            await self._follow()
        except StoreUnavailable:
            self._failures += 1
            raise

    async def _follow(self) -> None:
        """Takes over what has changed, in portions; most often there is nothing, or one lesson."""
        if self._revision < 0:
            await self._vectors.check()
        complete = False
        while not complete:
            since = max(self._revision, 0)
            delta = await self._changes(since)
            if delta.revision < self._revision:
                await self._start_over()
                continue
            if delta.revision == self._revision:
                return
            await self._texts.apply([_text(item) for item in delta.promoted], delta.removed)
            await self._vectors.follow(delta, self._revision)
            self._remember(delta)
            complete = delta.complete
        await self._files.follow(delta, since)

    async def _start_over(self) -> None:
        """Forgets everything: revisions that run backwards are those of another object store than before."""
        _log.warning("the object store was replaced, or restored from a backup: everything is taken over anew")
        await self._texts.apply([], list(self._promotions))
        self._promotions = {}
        self._vectors.start_over()
        self._files.start_over()
        self._revision = 0
        self._edition += 1

    async def _changes(self, since: int) -> CatalogDelta:
        """The next portion of what changed after the revision `since`."""
        return await self._store.changes_since(since, self._embedder.name, BATCH)

    def _remember(self, delta: CatalogDelta) -> None:
        for item in delta.promoted:
            self._promotions[item.copy.id] = Promotion(item.copy.bin, item.copy.version)
        for lesson_id in delta.removed:
            self._promotions.pop(lesson_id, None)
        self._revision = delta.revision
        self._edition += 1


def _text(item: CatalogItem) -> LessonText:
    copy = item.copy
    return LessonText(lesson_id=copy.id, bin=copy.bin, title=copy.title, body=copy.body)
