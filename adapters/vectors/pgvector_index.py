"""The vector index on PostgreSQL with pgvector, shared by all processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

import asyncpg

from adapters.per_event_loop import PerEventLoop
from adapters.vectors import pgvector_changes as changes
from adapters.vectors.best_sections import NearestVectors, best_sections
from adapters.vectors.made_for import MadeFor
from adapters.vectors.pgvector_changes import Connection, State
from adapters.vectors.pgvector_pool import WHAT, PgvectorPool, explain, parse_pgvector_dsn
from adapters.vectors.pgvector_tables import PgvectorTables
from adapters.vectors.remote_calls import RemoteCalls
from adapters.vectors.stored_vectors import finite
from application.learner.ports import StoredVectors, VectorHit, VectorIndex
from domain.errors import VectorsUnavailable
from domain.learner.lesson import Bin

_SEARCH_S: Final = 5.0
_OPEN_S: Final = 30.0
_WRITE_S: Final = 60.0
_INDEX_S: Final = 3600.0
_LESSONS_A_TRANSACTION: Final = 128
_BULK: Final = 256
"""Lessons in one call from which on the index is left to be built later, all at once: several times as fast."""

_MOST_VECTORS: Final = 1 << 20

Result = TypeVar("Result")


class PgvectorIndex(VectorIndex):
    """Each lesson's vectors are replaced in a transaction that also checks that they are newer than what is there.

    So what several processes apply in whatever order ends with each lesson as of the highest revision; and the index'
    own revision moves forward only, and only from one that it reflects.
    """

    def __init__(self, dsn: str) -> None:
        """Raises `InvalidConfiguration`. Nothing is reached yet."""
        address = parse_pgvector_dsn(dsn)
        self._pools = PerEventLoop(lambda: PgvectorPool(address))
        self._calls = RemoteCalls(WHAT, explain)
        self._state: State | None = None
        self._is_indexed = False

    async def reach(self) -> None:
        await self._read(lambda connection: connection.execute("SELECT 1"))

    async def prepare(self, embedder: str, dimension: int) -> int:
        made_for = MadeFor(embedder, dimension)
        self._state = await self._transaction(_OPEN_S, lambda connection: changes.opened(connection, made_for))
        self._is_indexed = False
        return self._state.revision

    async def reset(self, embedder: str, dimension: int) -> None:
        made_for = MadeFor(embedder, dimension)
        self._state = await self._transaction(_OPEN_S, lambda connection: changes.emptied(connection, made_for))
        self._is_indexed = False

    async def nearest(self, query: bytes, limit: int, bin: Bin | None = None) -> Sequence[VectorHit]:
        made_for = self._prepared().made_for
        made_for.check_query(query)
        tables = PgvectorTables(made_for)
        vector = finite(query, made_for.dimension)[0]

        async def work(connection: Connection) -> Sequence[VectorHit]:
            if not vector.any():
                rows = await connection.fetch(tables.first(bin), max(limit, 0))
                return [VectorHit(lesson_id=row[0], similarity=0.0) for row in rows]
            statement, values = tables.nearest(bin), vector.tolist()

            async def nearest_vectors(number: int) -> NearestVectors:
                rows = [(row[0], row[1]) for row in await connection.fetch(statement, values, number)]
                return NearestVectors(rows, there_are_more=len(rows) == number)

            return await best_sections(nearest_vectors, limit, _MOST_VECTORS)

        return await self._read(work)

    async def similarities(self, query: bytes, lesson_ids: Sequence[str]) -> dict[str, float]:
        made_for = self._prepared().made_for
        made_for.check_query(query)
        statement, vector = PgvectorTables(made_for).similarities, finite(query, made_for.dimension)[0].tolist()
        return dict(await self._read(lambda connection: connection.fetch(statement, vector, lesson_ids)))

    async def apply(self, put: Sequence[StoredVectors], remove: Sequence[str], revision: int) -> None:
        """Raises `EmbedderMismatch`, with nothing applied, for vectors of another embedder or dimension."""
        state = self._prepared()
        state.made_for.check_stored(put)
        lessons = [*((lesson_id, None) for lesson_id in remove), *((stored.lesson_id, stored) for stored in put)]
        for start in range(0, len(lessons), _LESSONS_A_TRANSACTION):
            await self._write(state, dict(lessons[start : start + _LESSONS_A_TRANSACTION]), revision)
        if not self._is_indexed and len(put) < _BULK:
            await self._transaction(_INDEX_S, lambda connection: changes.index(connection, state))
            self._is_indexed = True
        await self._transaction(_OPEN_S, lambda connection: changes.move_revision(connection, state, revision))

    async def aclose(self) -> None:
        """Closes the running event loop's connections; other loops close theirs when they end."""
        await self._pools.aclose()

    def _prepared(self) -> State:
        if self._state is None:
            raise VectorsUnavailable(f"{WHAT} has not been reached yet: try again shortly.")
        return self._state

    async def _write(self, state: State, lessons: Mapping[str, StoredVectors | None], revision: int) -> None:
        await self._transaction(_WRITE_S, lambda connection: changes.write(connection, state, lessons, revision))

    async def _read(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """Searches; where the tables are gone, the index may have become another embedder's."""

        async def call() -> Result:
            async with (await self._pools.current()).connection() as connection:
                try:
                    return await work(connection)
                except asyncpg.UndefinedTableError:
                    await changes.check(connection, self._prepared().made_for)
                    raise

        return await self._calls(_SEARCH_S, call)

    async def _transaction(self, within_s: float, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        async def call() -> Result:
            async with (await self._pools.current()).connection() as connection, connection.transaction():
                return await work(connection)

        return await self._calls(within_s, call)
