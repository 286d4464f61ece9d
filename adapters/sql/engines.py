"""Which engine serves an address."""

from __future__ import annotations

from sqlalchemy.engine import URL

from adapters.sql.engine import Engine
from adapters.sql.sqlite_engine import SqliteEngine


def open_engine(url: URL) -> Engine:
    """The engine for an address that `parse_dsn` has given; it connects with the first transaction."""
    if url.get_backend_name() == "sqlite":
        return SqliteEngine(url)
    from adapters.sql.server_engine import ServerEngine  # noqa: PLC0415 - SQLAlchemy's asyncio takes a while to import

    return ServerEngine(url)
