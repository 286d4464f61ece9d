"""PostgreSQL and MySQL/MariaDB/TiDB on asyncio, through SQLAlchemy's pool."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import anyio
from sqlalchemy import event
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from adapters.sql.dialects import server_options
from adapters.sql.engine import Engine, T, Work, carry_out
from domain.errors import InvalidConfiguration

#: Connections of a process to one database. All stay open: closing one has to wait for its server.
_POOL = 10
_POOL_WAIT_S = 5
_RECYCLED_S = 1800
#: Seconds that connections have to say goodbye to their server.
_CLOSING_S = 2


class ServerEngine(Engine):
    """A pool of connections. One that is cancelled in the middle is cut: its server may hang."""

    def __init__(self, url: URL) -> None:
        self._engine = create_async_engine(
            url,
            isolation_level="AUTOCOMMIT",
            connect_args=dict(server_options(url)),
            hide_parameters=True,
            max_overflow=0,
            pool_recycle=_RECYCLED_S,
            pool_reset_on_return=None,
            pool_size=_POOL,
            pool_timeout=_POOL_WAIT_S,
            skip_autocommit_rollback=True,
        )
        self._connections: set[DBAPIConnection] = set()
        event.listen(self._engine.sync_engine, "connect", lambda made, _: self._connections.add(made))
        event.listen(self._engine.sync_engine, "close", lambda closed, _: self._connections.discard(closed))

    async def transaction(self, work: Work[T], *, writes: bool) -> T:
        connection = await self._connect()
        try:
            return await connection.run_sync(lambda sync: carry_out(sync, work, writes=writes))
        except BaseException as error:
            if not isinstance(error, Exception) or isinstance(error, OSError | asyncio.TimeoutError):
                _cut(connection)
            raise
        finally:
            await connection.close()

    async def aclose(self) -> None:
        with anyio.move_on_after(_CLOSING_S):
            await self._engine.dispose()
        self.abandon()

    def abandon(self) -> None:
        terminate = self._engine.sync_engine.dialect.do_terminate
        for connection in list(self._connections):
            with suppress(Exception):  # their event loop may be closed, and their sockets with it
                terminate(connection)
        self._connections.clear()

    async def _connect(self) -> AsyncConnection:
        try:
            return await self._engine.connect()
        except TypeError as error:
            text = f"the database's address has an option that its driver does not take: {error}"
            raise InvalidConfiguration(text) from None


def _cut(connection: AsyncConnection) -> None:
    """Closes the connection without a word to the server, which may not be listening."""
    if connection.sync_connection is not None:
        connection.sync_connection.invalidate()
