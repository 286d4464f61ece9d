"""Whether a database takes writes: its server may be read-only, its disk full, its tables gone, and reading goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timezone
from functools import partial
from uuid import uuid4

from sqlalchemy import Connection, delete, false, insert, update
from sqlalchemy.exc import DBAPIError

from adapters.sql.engine import Work
from adapters.sql.schema import Schema
from domain.errors import StoreUnavailable

#: Seconds for which a write that failed speaks for those that follow, until a write of our own finds out.
_HELD_S = 5.0
#: Seconds to wait for a write of our own. One that takes longer tells nothing: somebody else may have the lock.
_PATIENCE_S = 1.0
_LONG_AGO = datetime(2000, 1, 1, tzinfo=timezone.utc)
_BYTES = 8_192


class WriteCheck:
    """Asks with a transaction that changes nothing, and costs the disk nothing: that tells what the database refuses.

    What only a real write meets, such as a full disk, is known from the writes that fail (`failed`). After one of them
    the next question is a row that comes and goes, so that the fault is over as soon as it is, also where nobody dares
    to write. However many ask at once, there is one such transaction at a time.
    """

    def __init__(self, schema: Schema, write: Callable[[Work[None]], Awaitable[None]]) -> None:
        self._schema = schema
        self._write = write
        self._fault: StoreUnavailable | None = None
        self._failed_at = 0.0
        self._asking: asyncio.Task[None] | None = None

    def failed(self, fault: StoreUnavailable) -> None:
        """A write has failed for a reason that lasts."""
        self._fault, self._failed_at = fault, time.monotonic()

    async def __call__(self) -> None:
        """Raises `StoreUnavailable` where writes fail, for a reason that does not pass by itself."""
        if self._fault is None or time.monotonic() - self._failed_at >= _HELD_S:
            await asyncio.wait([self._asked()], timeout=_PATIENCE_S)
        if self._fault is not None:
            raise StoreUnavailable(self._fault.detail)

    def _asked(self) -> asyncio.Task[None]:
        loop = asyncio.get_running_loop()
        if self._asking is None or self._asking.done() or self._asking.get_loop() is not loop:
            self._asking = loop.create_task(self._ask())
        return self._asking

    async def _ask(self) -> None:
        known = self._fault
        work = partial(_write_nothing if known is None else _come_and_go, schema=self._schema)
        try:
            await self._write(work)
        except StoreUnavailable:
            return  # one that lasts was told by the write; any other, such as a lock, is no fault
        except DBAPIError as error:
            self.failed(StoreUnavailable(f"{self._schema.title} takes no writes ({type(error.orig).__name__})"))
        else:
            if self._fault is known:
                self._fault = None


def _write_nothing(connection: Connection, schema: Schema) -> None:
    for table in schema.metadata.tables.values():
        column = list(table.columns)[-1]
        connection.execute(update(table).where(false()).values({column.name: column}))


def _come_and_go(connection: Connection, schema: Schema) -> None:
    _write_nothing(connection, schema)
    table, digest = schema.requests, uuid4().hex
    row = {"digest": digest, "fingerprint": digest, "at": _LONG_AGO, "answer": "x" * _BYTES}
    connection.execute(insert(table), [row])
    connection.execute(delete(table).where(table.c.digest == digest))
