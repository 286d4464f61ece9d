"""Counting what found no match, off the request's path."""

from __future__ import annotations

import logging

import anyio

from application.feedback.ports import Miss, MissStore
from application.shared.ports import Clock
from domain.errors import StoreUnavailable

_log = logging.getLogger(__name__)

#: Problem types remembered between two writes; what is beyond is not counted, so that memory stays bounded.
_MOST_WAITING = 10_000


class CountMisses:
    """Keeps misses in memory until the next write. A crash loses at most the counts of one interval."""

    def __init__(self, *, store: MissStore, clock: Clock, every_s: float = 0.5) -> None:
        self._store = store
        self._clock = clock
        self._every_s = every_s
        self._waiting: dict[str, Miss] = {}

    def note(self, problem_type: str) -> None:
        known = self._waiting.get(problem_type)
        if known is None and len(self._waiting) >= _MOST_WAITING:
            return
        count = known.count + 1 if known else 1
        self._waiting[problem_type] = Miss(problem_type=problem_type, count=count, last_at=self._clock.now())

    async def write(self) -> None:
        """Stores what has been noted. Raises `StoreUnavailable`, with everything still noted."""
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        try:
            await self._store.add(list(waiting.values()))
        except StoreUnavailable:
            for problem_type, miss in waiting.items():
                since = self._waiting.get(problem_type)
                count = miss.count + (since.count if since else 0)
                last_at = since.last_at if since else miss.last_at
                self._waiting[problem_type] = Miss(problem_type=problem_type, count=count, last_at=last_at)
            raise

    async def run(self) -> None:
        """Writes at every interval until cancelled."""
        while True:
            await anyio.sleep(self._every_s)
            try:
                await self.write()
            except StoreUnavailable as error:
                _log.warning("misses will be stored later: %s", error.detail)
            except Exception:
                _log.exception("misses could not be stored")
