"""What runs beside the requests: deliveries, the reconciler, the writing of misses, and housekeeping."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import anyio

from application.feedback.ports import FeedbackStore, MissStore, Outbox
from application.learner.catalog import Catalog
from application.learner.ports import LessonStore
from application.shared.ports import Clock
from domain.errors import MemoryGridError

_log = logging.getLogger(__name__)

Job = Callable[[], Coroutine[None, None, None]]

_RECONCILE_S = 5.0
_HOUSEKEEPING_S = 600.0
_FIRST_HOUSEKEEPING_S = 10.0
_REQUESTS_KEPT = timedelta(hours=24)
_PRUNED_AT_ONCE = 5_000
_MISSES_KEPT = 100_000
_PORTIONS = 1_000
_PAUSE_S = 0.1


@asynccontextmanager
async def running(jobs: Sequence[Job]) -> AsyncIterator[None]:
    """Runs the jobs until the context is left."""
    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(job)
        yield
        group.cancel_scope.cancel()


def repeated(work: Callable[[], Awaitable[None]], every_s: float, what: str, *, first_s: float | None = None) -> Job:
    """A job that does `work` after `first_s` and then at every interval, whatever became of the last time."""

    async def run() -> None:
        wait_s = every_s if first_s is None else first_s
        while True:
            await anyio.sleep(wait_s)
            wait_s = every_s
            try:
                await work()
            except MemoryGridError as error:
                _log.warning("%s will be tried again: %s", what, error.detail)
            except Exception:
                _log.exception("%s failed and will be tried again", what)

    return run


def reconciler(catalog: Catalog) -> Job:
    """Lets derived data that have fallen behind catch up with the object store."""
    return repeated(catalog.reconcile, _RECONCILE_S, "bringing the indices up to date")


def _housekeeping(work: Callable[[], Awaitable[None]], what: str) -> Job:
    """Soon after the start, too: a service that is started anew every few minutes would else never get to it."""
    return repeated(work, _HOUSEKEEPING_S, what, first_s=_FIRST_HOUSEKEEPING_S)


def lesson_housekeeping(store: LessonStore, clock: Clock) -> Job:
    """Forgets the Learner's idempotency records once they have expired."""

    async def work() -> None:
        await store.forget_requests(clock.now() - _REQUESTS_KEPT)

    return _housekeeping(work, "the object store's housekeeping")


def miss_housekeeping(store: MissStore) -> Job:
    """Keeps the list of what found no match from growing for ever, however many problem types callers make up."""

    async def work() -> None:
        await store.keep(_MISSES_KEPT)

    return _housekeeping(work, "forgetting old misses")


def feedback_housekeeping(store: FeedbackStore, outbox: Outbox, clock: Clock, retention_days: int | None) -> Job:
    """Forgets expired idempotency records and, where a retention is set, prunes old entries and then the escalations
    that were settled as long ago, in small portions. What is still to be delivered stays.
    """

    async def work() -> None:
        await store.forget_requests(clock.now() - _REQUESTS_KEPT)
        if retention_days is None:
            return
        oldest = clock.now() - timedelta(days=retention_days)
        if await _pruned(store.prune, oldest):
            await _pruned(outbox.prune, oldest)

    return _housekeeping(work, "the feedback database's housekeeping")


async def _pruned(prune: Callable[[datetime, int], Awaitable[int]], oldest: datetime) -> bool:
    """Whether nothing older is left. The rest is for the next time."""
    for _ in range(_PORTIONS):
        if await prune(oldest, _PRUNED_AT_ONCE) < _PRUNED_AT_ONCE:
            return True
        await anyio.sleep(_PAUSE_S)
    return False
