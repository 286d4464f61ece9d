"""A database: its engine, its schema, and transactions that are tried again where the engine asks for it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine

from adapters.sql.dialects import WRITES, create_engine, is_out_of_reach, parse_dsn, should_try_again
from adapters.sql.schema import Schema, bring_up_to_date
from domain.errors import StoreUnavailable

_T = TypeVar("_T")
_TRIES = 8
_DEADLINE_S = 12.0
_MIGRATION_DEADLINE_S = 60.0


class Database:
    """One of the service's two databases.

    A transaction is a synchronous function over a SQLAlchemy Core connection; it may run more than once and therefore
    changes nothing but the database. Everything is opened lazily, for the event loop that first uses it, so that the
    object can be built without a running loop. Raises `StoreUnavailable` where the database does not answer in time.
    """

    def __init__(self, dsn: str, schema: Schema) -> None:
        self._url = parse_dsn(dsn)
        self._schema = schema
        self._engine: AsyncEngine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """What people call it, e.g. `the feedback database`."""
        return self._schema.title

    @property
    def file(self) -> str | None:
        """The path of the SQLite file; None for a server's database and for one in memory."""
        if self._url.get_backend_name() != "sqlite" or self._url.database in (None, "", ":memory:"):
            return None
        return self._url.database

    async def read(self, work: Callable[[Connection], _T]) -> _T:
        """Runs `work`, which only reads."""
        return await self._run(work, writes=False)

    async def write(self, work: Callable[[Connection], _T]) -> _T:
        """Runs `work` as one transaction and commits it; raises what `work` raises, with nothing changed.

        A deadlock or serialisation failure repeats the whole of it, at most 8 times. `IntegrityError` passes through.
        """
        return await self._run(work, writes=True)

    async def open(self) -> None:
        """Connects and brings the schema up to date, once; everything else does it by itself."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._engine, self._loop, self._ready = create_engine(self._url), loop, None
        if self._ready is None or (self._ready.done() and self._failed(self._ready)):
            self._ready = loop.create_task(self._set_up())
        if not self._ready.done():
            await asyncio.shield(self._ready)

    async def aclose(self) -> None:
        """Closes all connections; the next use opens them again."""
        engine, self._engine, self._loop = self._engine, None, None
        if engine is not None:
            await engine.dispose()

    @staticmethod
    def _failed(task: asyncio.Task[None]) -> bool:
        return task.cancelled() or task.exception() is not None

    async def _set_up(self) -> None:
        engine = self._opened()
        try:
            with anyio.fail_after(_MIGRATION_DEADLINE_S):
                await self._again(lambda: bring_up_to_date(engine, self._schema))
        except (DBAPIError, OSError, PoolTimeout, TimeoutError) as error:
            raise self._unavailable(error) from error

    async def _run(self, work: Callable[[Connection], _T], *, writes: bool) -> _T:
        await self.open()
        engine = self._opened()
        try:
            with anyio.fail_after(_DEADLINE_S):
                return await self._again(lambda: self._transaction(engine, work, writes=writes))
        except IntegrityError:
            raise
        except (DBAPIError, OSError, PoolTimeout, TimeoutError) as error:
            if not is_out_of_reach(error):
                raise
            raise self._unavailable(error) from error

    def _opened(self) -> AsyncEngine:
        if self._engine is None:
            raise StoreUnavailable(f"{self.name} has been closed")
        return self._engine

    @staticmethod
    async def _again(transaction: Callable[[], Awaitable[_T]]) -> _T:
        """Repeats what the engine gave up for another transaction's sake."""
        for attempt in range(1, _TRIES):
            try:
                return await transaction()
            except DBAPIError as error:
                if not should_try_again(error):
                    raise
            await anyio.sleep(random.random() * 0.01 * 2**attempt)  # noqa: S311 - jitter
        return await transaction()

    @staticmethod
    async def _transaction(engine: AsyncEngine, work: Callable[[Connection], _T], *, writes: bool) -> _T:
        async with engine.connect() as connection:
            if not writes:
                return await connection.run_sync(work)
            await connection.execution_options(**WRITES)
            async with connection.begin():
                return await connection.run_sync(work)

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        return StoreUnavailable(f"{self.name} does not answer ({type(cause).__name__}): try again shortly")
