"""Connections to PostgreSQL for the vector index, and what its errors mean."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
import asyncpg
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from adapters.vectors.pgvector_tables import SESSION
from adapters.vectors.remote_calls import Failure
from domain.errors import InvalidConfiguration

WHAT: Final = "The vector store (PostgreSQL)"

_CONNECT_S: Final = 2.0
_CLOSE_S: Final = 2.0
_CONNECTIONS: Final = 8
_AWAY: Final = ("08", "53", "57", "58")
"""SQLSTATE classes of a server that is out of reach, full, shutting down or broken."""

_HINTS: Final = {
    "28000": "Check the user in MG_VECTOR_DSN.",
    "28P01": "Check the password in MG_VECTOR_DSN.",
    "3D000": "Check the database's name in MG_VECTOR_DSN.",
    "42501": "Let its owner run CREATE EXTENSION vector, and grant CREATE on the schema.",
    "0A000": "Install the extension pgvector on the server.",
    "42P01": "Its tables are gone: run `memorygrid reindex`.",
}


def parse_pgvector_dsn(dsn: str) -> str:
    """The address as asyncpg takes it. Raises `InvalidConfiguration`, which never shows the password."""
    try:
        url = make_url(dsn)
    except (ArgumentError, ValueError):  # which may quote a part of the password
        raise InvalidConfiguration(f"not a database address; {_EXPECTED}") from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+asyncpg") or not url.database:
        raise InvalidConfiguration(_EXPECTED)
    return _for_asyncpg(url).render_as_string(hide_password=False)


_EXPECTED = "expected postgresql+asyncpg://USER:PASSWORD@HOST:PORT/NAME"


def _for_asyncpg(url: URL) -> URL:
    """SQLAlchemy's `ssl=` is asyncpg's `sslmode=`."""
    query = {"sslmode" if name == "ssl" else name: value for name, value in url.query.items()}
    return url.set(drivername="postgresql", query=query)


class PgvectorPool:
    """The connections of one event loop. Opened by their first use; nothing is reached when it is made."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._pool: asyncpg.Pool | None = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection of one's own. Whoever is cancelled in the middle of a statement leaves it to be closed."""
        pool = await self._opened()
        connection = await pool.acquire()
        try:
            yield connection
        except anyio.get_cancelled_exc_class():
            connection.terminate()
            raise
        finally:
            await pool.release(connection, timeout=_CLOSE_S)

    async def aclose(self) -> None:
        """Closes all connections, those in use after 2 s by force."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        with anyio.move_on_after(_CLOSE_S):
            await pool.close()
            return
        pool.terminate()

    async def _opened(self) -> asyncpg.Pool:
        if self._pool is None:
            self._pool = asyncpg.create_pool(
                self._dsn, min_size=0, max_size=_CONNECTIONS, timeout=_CONNECT_S, server_settings=SESSION
            )
            await self._pool
        return self._pool


def explain(error: Exception) -> Failure | None:
    """What an error of asyncpg means; None for one that is not about the server."""
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        hint = f" {_HINTS[state]}" if state in _HINTS else ""
        return Failure(f"{WHAT} says: {error.args[0]}.{hint}", alive=state[:2] not in _AWAY)
    if isinstance(error, asyncpg.InterfaceError):
        return Failure(f"{WHAT} cannot be used ({type(error).__name__}): try again shortly.", alive=False)
    if isinstance(error, OSError | asyncio.TimeoutError):
        return Failure(f"{WHAT} is out of reach ({type(error).__name__}): try again shortly.", alive=False)
    return None
