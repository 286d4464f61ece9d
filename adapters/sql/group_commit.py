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
    out one by one, so that only the culprit fails. A caller that is cancelled takes nothing back.
    """

    def __init__(
        self, database: Database, carry_out: Callable[[Connection, Sequence[_C]], Sequence[_R | MemoryGridError]]
    ) -> None:
        self._database = database
        self._carry_out = carry_out
        self._waiting: deque[tuple[_C, asyncio.Future[_R]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, command: _C) -> _R:
        """The command's result once it is durable. Raises its error, `StoreUnavailable`, or `Overloaded`."""
        if len(self._waiting) >= _MOST_WAITING:
            raise Overloaded(f"{self._database.name} has {_MOST_WAITING} writes waiting: try again in a second")
        loop = asyncio.get_running_loop()
        result: asyncio.Future[_R] = loop.create_future()
        self._waiting.append((command, result))
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work())
        return await result

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # whoever is ready in this turn of the loop comes along
            count = min(len(self._waiting), _LARGEST_BATCH)
            await self._commit([self._waiting.popleft() for _ in range(count)])

    async def _commit(self, batch: Sequence[tuple[_C, asyncio.Future[_R]]]) -> None:
        commands = [command for command, _ in batch]
        results: Sequence[_R | Exception]
        try:
            results = await self._database.write(lambda connection: self._carry_out(connection, commands))
        except StoreUnavailable as error:
            results = [error] * len(batch)
        except Exception:
            results = [await self._alone(command) for command in commands]
        except BaseException as error:
            for _, result in batch:
                if not result.done():
                    result.set_exception(error if isinstance(error, Exception) else RuntimeError("shut down"))
            raise
        for (_, result), answer in zip(batch, results, strict=True):
            if result.done():
                continue
            if isinstance(answer, Exception):
                result.set_exception(answer)
            else:
                result.set_result(answer)

    async def _alone(self, command: _C) -> _R | Exception:
        """The command in a transaction of its own; after a lost race for a key once more, to see who won."""
        for _ in range(2):
            try:
                return (await self._database.write(lambda connection: self._carry_out(connection, [command])))[0]
            except IntegrityError as error:
                failed: Exception = error
            except Exception as error:
                return error
        return failed
