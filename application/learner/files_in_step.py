"""The lessons folder, kept in step with the object store's promoted copies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import anyio

from application.learner.ports import CatalogDelta, LessonFiles, LessonStore
from application.learner.vectors_in_step import BEHIND, PATIENCE_S, Changes
from domain.errors import StoreUnavailable

_log = logging.getLogger(__name__)


class FilesInStep:
    """Takes changes over into the folder, in their order and one at a time, up to the catalog's `revision`.

    `problem` says why the folder is behind.
    """

    def __init__(
        self, *, store: LessonStore, files: LessonFiles, changes: Changes, revision: Callable[[], int]
    ) -> None:
        self.problem: str | None = None
        self._store = store
        self._files = files
        self._changes = changes
        self._revision = revision
        self._hangs = False
        self._of_another_store = False
        self._lock = anyio.Lock()

    async def follow(self, delta: CatalogDelta, since: int) -> None:
        """Brings the folder to the catalog's revision, within a few seconds; `delta` is what changed after `since`.

        A folder that took longer is left to `catch_up` until it is there.
        """
        if self._hangs:
            return
        try:
            with anyio.fail_after(PATIENCE_S):
                await self._bring({since: delta})
        except TimeoutError:
            self._hangs = True
            self._could_not_follow(f"it did not take a change over within {PATIENCE_S:g} s")

    async def catch_up(self) -> None:
        """Brings the folder to the catalog's revision, however long it takes."""
        await self._bring({})

    def start_over(self) -> None:
        """The object store is another one: all of its lessons will be written to the folder."""
        self._of_another_store = True

    async def _bring(self, known: Mapping[int, CatalogDelta]) -> None:
        """`known` holds changes that have been read already, by the revision after which they came."""
        try:
            async with self._lock:
                reflected = await self._reflected()
                while reflected < self._revision():
                    delta = known.get(reflected) or await self._changes(reflected)
                    if delta.revision <= reflected:
                        self._could_not_follow(BEHIND)
                        return
                    await self._files.apply([item.copy for item in delta.promoted], delta.removed, delta.revision)
                    reflected = delta.revision
                self.problem = None
                self._hangs = False
        except StoreUnavailable as error:
            self._could_not_follow(error.detail)

    async def _reflected(self) -> int:
        """The revision that the folder reflects. One that is ahead of the object store belonged to another store."""
        reflected = await self._files.revision()
        if self._of_another_store or (reflected > self._revision() and reflected > await self._store.revision()):
            _log.warning("the lessons folder is of another object store: the lessons of this one are added to it")
            await self._files.apply([], [], 0)
            self._of_another_store = False
            return 0
        return reflected

    def _could_not_follow(self, why: str) -> None:
        _log.warning("the lessons folder could not follow: %s", why)
        self.problem = why
