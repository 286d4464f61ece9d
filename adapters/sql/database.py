"""A database: its engine, its schema, and transactions that are tried again where the engine asks for it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

import anyio
from sqlalchemy.exc import DBAPIError

from adapters.sql.dialects import parse_dsn
from adapters.sql.engine import CommitInDoubt, Engine, Work
from adapters.sql.engines import open_engine
from adapters.sql.faults import LastingFault, is_lost, reason, remedy, should_try_again
from adapters.sql.opened_file import FileGone
from adapters.sql.schema import Schema, SchemaState, bring_up_to_date, check, upgrade
from adapters.sql.write_check import WriteCheck
from domain.errors import StoreUnavailable

_T = TypeVar("_T")
_TRIES = 8
_DEADLINE_S = 12.0
_MIGRATION_DEADLINE_S = 60.0
#: Seconds that transactions have to end when the database is closed.
_CLOSING_S = 2.0


class Database:
    """One of the service's two databases.

    A transaction is a synchronous function over a SQLAlchemy Core connection; it may run more than once and therefore
    changes nothing but the database. Everything is opened lazily, for the event loop that first uses it, so that the
    object can be built without a running loop. Raises `StoreUnavailable` where the database does not answer in time.

    A transaction goes on when its caller is cancelled, to its end or to `deadline_s`: no connection is torn out of a
    server's hands for the sake of one request.
    """

    def __init__(self, dsn: str, schema: Schema, *, deadline_s: float = _DEADLINE_S) -> None:
        self._url = parse_dsn(dsn)
        self._schema = schema
        self._deadline_s = deadline_s
        self._engine: Engine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[Any]] = set()
        self._write_check = WriteCheck(schema, self.write)

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

    @property
    def is_open(self) -> bool:
        """Whether it was opened since it was made or closed: connected, with its schema up to date."""
        ready = self._ready if self._engine is not None else None
        return ready is not None and ready.done() and not _failed(ready)

    async def read(self, work: Work[_T]) -> _T:
        """Runs `work`, which only reads."""
        return await _going_on(self.transaction(work, writes=False))

    async def write(self, work: Work[_T]) -> _T:
        """Runs `work` as one transaction and commits it; raises what `work` raises, with nothing changed.

        A deadlock or serialisation failure repeats the whole of it, at most 8 times. `IntegrityError` passes through.
        """
        return await _going_on(self.transaction(work, writes=True))

    async def transaction(self, work: Work[_T], *, writes: bool) -> _T:
        """As `read` and `write`, in the caller's own task, for one that nobody cancels."""
        await self.open()
        engine, task = self._opened(), asyncio.current_task()
        if task is not None:
            self._running.add(task)
        try:
            return await self._in_time(lambda: engine.transaction(work, writes=writes), self._deadline_s)
        except LastingFault as fault:
            if writes:
                self._write_check.failed(fault)
            raise
        finally:
            self._running.discard(task)

    async def open(self) -> None:
        """Connects and brings the schema up to date, once; everything else does it by itself."""
        engine = self._opened()
        if self._ready is None or (self._ready.done() and _failed(self._ready)):
            self._ready = asyncio.get_running_loop().create_task(self._set_up(engine))
        if not self._ready.done():
            await asyncio.shield(self._ready)

    async def check(self) -> SchemaState:
        """At which schema revision it is, and which one this program needs; changes nothing."""
        engine = self._opened()
        work = partial(check, schema=self._schema)
        return await self._in_time(lambda: engine.transaction(work, writes=False), self._deadline_s)

    async def check_writes(self) -> None:
        """Raises `StoreUnavailable` where it takes no writes until somebody mends it; see `WriteCheck`."""
        await self._write_check()

    async def upgrade(self) -> SchemaState:
        """Runs the migrations that are missing, however long they take.

        Raises `InvalidConfiguration` for a database that is newer than this program.
        """
        engine = self._opened()
        work = partial(upgrade, schema=self._schema)
        return await self._in_time(lambda: engine.transaction(work, writes=True), None)

    async def aclose(self) -> None:
        """Lets what is on its way end, for a moment, and closes all connections; the next use opens them again."""
        engine, self._engine = self._engine, None
        if engine is None:
            return
        if self._loop is not asyncio.get_running_loop():
            engine.abandon()
            return
        running = [*self._running, *([self._ready] if self._ready else [])]
        self._loop = self._ready = None
        if running:
            _, late = await asyncio.wait(running, timeout=_CLOSING_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await engine.aclose()

    def _opened(self) -> Engine:
        """The engine for this event loop. One that was opened for another loop has gone with it."""
        loop = asyncio.get_running_loop()
        if self._engine is None or self._loop is not loop:
            if self._engine is not None:
                self._engine.abandon()
            self._engine, self._loop, self._ready = open_engine(self._url), loop, None
            self._running.clear()
        return self._engine

    async def _set_up(self, engine: Engine) -> None:
        looking, filling = partial(check, schema=self._schema), partial(bring_up_to_date, schema=self._schema)
        state = await self._in_time(lambda: engine.transaction(looking, writes=False), self._deadline_s)
        if not state.is_up_to_date:
            await self._in_time(lambda: engine.transaction(filling, writes=True), _MIGRATION_DEADLINE_S)

    async def _in_time(self, attempt: Callable[[], Awaitable[_T]], deadline_s: float | None) -> _T:
        try:
            with anyio.fail_after(deadline_s):
                return await _again(attempt)
        except CommitInDoubt as error:
            text = f"{self.name} broke off while it stored this: nobody knows whether it did"
            raise StoreUnavailable(text) from error
        except FileGone as error:
            text = (
                f"{self.name} is out of reach: its file {error} while this process had it open, and nothing more is "
                "stored there. Stop every process that uses it, see that the right file is in place, and start again"
            )
            raise LastingFault(text) from error
        except Exception as error:
            why = reason(error)
            if why is None:
                raise
            what_to_do = remedy(why)
            if what_to_do is None:
                raise StoreUnavailable(f"{self.name} cannot be used just now ({why}): try again shortly") from error
            raise LastingFault(f"{self.name} cannot be used ({why}): {what_to_do}") from error


async def _again(attempt: Callable[[], Awaitable[_T]]) -> _T:
    """Repeats what the engine gave up for another transaction's sake, or what broke with a stale connection."""
    for number in range(1, _TRIES):
        try:
            return await attempt()
        except DBAPIError as error:
            if not should_try_again(error) and not is_lost(error):
                raise
        await anyio.sleep(random.random() * 0.01 * 2**number)  # noqa: S311 - jitter
    return await attempt()


async def _going_on(transaction: Coroutine[Any, Any, _T]) -> _T:
    """The transaction's result. Where the caller is cancelled it goes on, and fails in silence if it fails."""
    task = asyncio.get_running_loop().create_task(transaction)
    task.add_done_callback(_failed)
    return await asyncio.shield(task)


def _failed(task: asyncio.Task[Any]) -> bool:
    return task.cancelled() or task.exception() is not None
