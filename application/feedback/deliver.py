"""Delivering escalations: one attempt at a time, with the result kept in the outbox; and the dispatcher's rounds."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta

import anyio
import msgspec

from application.feedback.ports import EscalationTarget, Outbox
from application.shared.ports import Clock
from domain.errors import MemoryGridError
from domain.feedback.escalation import Escalation, Path, State, backoff_s

_log = logging.getLogger(__name__)

#: Seconds that a row belongs to the one who took it; a dead owner's rows are free again after that.
LEASE_S = 15.0
#: Seconds that one attempt may take: below the lease, so that nobody else takes the row meanwhile.
ATTEMPT_S = 10.0


class DeliverEscalation:
    """Attempts one delivery and stores how it went. The caller must hold the row's lease as `owner`."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        targets: Mapping[Path, EscalationTarget],
        clock: Clock,
        owner: str,
        max_attempts: int,
    ) -> None:
        self._outbox = outbox
        self._targets = targets
        self._clock = clock
        self._owner = owner
        self._max_attempts = max_attempts

    async def __call__(self, escalation: Escalation) -> Escalation:
        """The escalation as it is stored after the attempt: with its result, unless that no longer counts.

        Raises `StoreUnavailable` where the result could not be stored.
        """
        state, error = await self._attempt(escalation)
        now = self._clock.now()
        attempts = escalation.attempts + 1
        if state is State.PENDING and attempts >= self._max_attempts:
            state = State.FAILED
        wait = backoff_s(attempts, random.random()) if state is State.PENDING else 0.0  # noqa: S311 - jitter
        after = msgspec.structs.replace(
            escalation,
            state=state,
            attempts=attempts,
            last_error=error,
            next_attempt_at=now + timedelta(seconds=wait),
            delivered_at=now if state is State.DELIVERED else None,
        )
        if not await self._outbox.settle(after, self._owner):
            return await self._outbox.get(escalation.id)
        if state is State.FAILED:
            _log.error("escalation %s failed for good after %d attempts: %s", escalation.id, attempts, error)
        return after

    async def _attempt(self, escalation: Escalation) -> tuple[State, str | None]:
        try:
            with anyio.fail_after(ATTEMPT_S):
                return await self._targets[escalation.path].deliver(escalation), None
        except MemoryGridError as error:
            return State.PENDING, error.detail
        except TimeoutError:
            return State.PENDING, f"no answer within {ATTEMPT_S:g} s"
        except Exception as error:
            _log.exception("escalation %s met an unexpected fault", escalation.id)
            return State.PENDING, f"unexpected fault ({type(error).__name__})"


class Dispatcher:
    """Takes due rows from the outbox and delivers them, for each path by itself: no target waits for another.

    `run` goes on until it is cancelled, whatever goes wrong with one row; `wake` tells it that there are new rows.
    """

    def __init__(
        self, *, outbox: Outbox, deliver: DeliverEscalation, clock: Clock, owner: str, poll_s: float = 1.0
    ) -> None:
        self._outbox = outbox
        self._deliver = deliver
        self._clock = clock
        self._owner = owner
        self._poll_s = poll_s
        self._news: dict[Path, anyio.Event] = {}

    def wake(self) -> None:
        """There may be rows that are due now."""
        for event in self._news.values():
            event.set()

    async def run(self) -> None:
        """Delivers until cancelled. A store that is away is asked again with every poll."""
        async with anyio.create_task_group() as group:
            for path in Path:
                group.start_soon(self._run_path, path)

    async def _run_path(self, path: Path) -> None:
        free = anyio.Semaphore(_PARALLEL)
        async with anyio.create_task_group() as group:
            while True:
                self._news[path] = anyio.Event()
                taken = await self._claim(path, free.value)
                for escalation in taken:
                    await free.acquire()
                    group.start_soon(self._one, escalation, free)
                if not taken or free.value == 0:
                    with anyio.move_on_after(self._poll_s):
                        await self._news[path].wait()

    async def _claim(self, path: Path, limit: int) -> Sequence[Escalation]:
        if not limit:
            return ()
        now = self._clock.now()
        try:
            return await self._outbox.claim(path, self._owner, now, now + timedelta(seconds=LEASE_S), limit)
        except MemoryGridError as error:
            _log.warning("the outbox cannot be read: %s", error.detail)
        except Exception:
            _log.exception("the outbox cannot be read")
        return ()

    async def _one(self, escalation: Escalation, free: anyio.Semaphore) -> None:
        try:
            await self._deliver(escalation)
        except MemoryGridError as error:
            _log.warning("escalation %s will be delivered again: %s", escalation.id, error.detail)
        except Exception:
            _log.exception("escalation %s will be delivered again", escalation.id)
        finally:
            free.release()
            self._news[escalation.path].set()


#: Deliveries under way at once on one path, so that one slow answer does not hold up the others.
_PARALLEL = 8
