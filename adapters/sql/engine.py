"""How transactions are run on an engine, behind one interface: SQLite on threads of its own, the servers on asyncio."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from adapters.sql import dialects

T = TypeVar("T")
Work = Callable[[Connection], T]


class Engine(Protocol):
    """An open database. Its connections belong to the event loop that it was first used on."""

    @abstractmethod
    async def transaction(self, work: Work[T], *, writes: bool) -> T:
        """Runs `work`, if it writes as one transaction. Cancelled, it gives the connection up and commits nothing.

        Raises what `work` raises, `DBAPIError` and `OSError`; `CommitInDoubt`; on SQLite `FileGone`.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Closes all connections."""

    @abstractmethod
    def abandon(self) -> None:
        """Lets go of all connections at once, for an event loop that is gone."""


class CommitInDoubt(Exception):
    """The connection broke while the COMMIT was under way: nobody knows whether it took effect."""


def carry_out(connection: Connection, work: Work[T], *, writes: bool) -> T:
    """Runs `work` on a connection, if it writes as one transaction."""
    if not writes:
        return work(connection)
    dialects.begin(connection)
    try:
        result = work(connection)
        _commit(connection)
    except Exception:
        if not connection.invalidated:
            dialects.roll_back(connection)
        raise
    return result


def _commit(connection: Connection) -> None:
    try:
        dialects.commit(connection)
    except DBAPIError as error:
        if error.connection_invalidated:
            raise CommitInDoubt from error
        raise
