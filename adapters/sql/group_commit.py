"""Group commit: commands that arrive together share one transaction, and each is answered after its COMMIT.

A durable commit costs one fsync, whatever it holds. While one transaction is on its way, what arrives waits and makes
up the next one, so that the batch grows with the load and nobody waits without need.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from adapters.sql.database import Database
from domain.errors import MemoryGridError, Overloaded, StoreUnavailable

_C = TypeVar("_C")
_R = TypeVar("_R")

_LARGEST_BATCH = 128
_MOST_WAITING = 4096


class GroupCommit(Generic[_C, _R]):
    """`carry_out` answers for each command of a batch its result, or the error that concerns that command alone.

    When the transaction fails for a reason of its own (a bad row, somebody else's equal key), its commands are carried
    out one by one, so that only the culprit fails. A caller that is cancelled takes nothing back. With `writes` False
    the commands only read, and share a look-up in place of a COMMIT.
    """

    def __init__(
        self,
        database: Database,
        carry_out: Callable[[Connection, Sequence[_C]], Sequence[_R | MemoryGridError]],
        *,
        writes: bool = True,
    ) -> None:
        self._carry_out = carry_out
        self._database = database
        self._writes = writes
        self._waiting: deque[tuple[_C, asyncio.Future[_R]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def submit(self, command: _C) -> _R:
        """The command's result once it is durable. Raises its error, `StoreUnavailable`, or `Overloaded`."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # what still waits on another loop waits for ever: that loop has ended
            self._waiting.clear()
            self._loop, self._worker = loop, None
        if len(self._waiting) >= _MOST_WAITING:
            raise Overloaded(f"{self._database.name} has {_MOST_WAITING} requests waiting: try again in a second")
        result: asyncio.Future[_R] = loop.create_future()
        self._waiting.append((command, result))
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work())
        return await result

    async def _work(self) -> None:
        try:
            while self._waiting:
                count = min(len(self._waiting), _LARGEST_BATCH)
                await self._commit([self._waiting.popleft() for _ in range(count)])
        finally:
            self._fail_waiting(StoreUnavailable(f"{self._database.name} is being closed"))

    async def _commit(self, batch: Sequence[tuple[_C, asyncio.Future[_R]]]) -> None:
        closing = StoreUnavailable(f"{self._database.name} is being closed: nobody knows whether this was stored")
        results: Sequence[_R | Exception] = [closing] * len(batch)
        try:
            results = await self._results([command for command, _ in batch])
        finally:
            for (_, result), answer in zip(batch, results, strict=True):
                _answer(result, answer)
        if isinstance(results[-1], StoreUnavailable):
            self._fail_waiting(results[-1])

    async def _results(self, commands: Sequence[_C]) -> Sequence[_R | Exception]:
        try:
            return await self._transaction(commands)
        except StoreUnavailable as error:
            return [error] * len(commands)
        except Exception:
            return await self._one_by_one(commands)

    async def _one_by_one(self, commands: Sequence[_C]) -> Sequence[_R | Exception]:
        """Each command in a transaction of its own, as long as the database answers."""
        results: list[_R | Exception] = []
        for command in commands:
            results.append(await self._alone(command))
            if isinstance(results[-1], StoreUnavailable):
                break
        return results + [results[-1]] * (len(commands) - len(results))

    async def _alone(self, command: _C) -> _R | Exception:
        """The command's result; after a lost race for a key it is tried once more, to see who won."""
        for _ in range(2):
            try:
                return (await self._transaction([command]))[0]
            except IntegrityError as error:
                failed: Exception = error
            except Exception as error:
                return error
        return failed

    async def _transaction(self, commands: Sequence[_C]) -> Sequence[_R | MemoryGridError]:
        """All results together. It is the worker's own transaction: no caller's cancellation reaches it."""
        return await self._database.transaction(lambda db: self._carry_out(db, commands), writes=self._writes)

    def _fail_waiting(self, error: StoreUnavailable) -> None:
        """Answers those who wait: they have waited for a database that is away, and must not do so in turn."""
        while self._waiting:
            _answer(self._waiting.popleft()[1], error)


def _answer(result: asyncio.Future[_R], answer: _R | Exception) -> None:
    if result.done():
        return
    if isinstance(answer, StoreUnavailable):  # many get it, and each adds to its traceback
        own = StoreUnavailable(answer.detail)
        own.__cause__ = answer
        answer = own
    if isinstance(answer, Exception):
        result.set_exception(answer)
    else:
        result.set_result(answer)
