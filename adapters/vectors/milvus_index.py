"""The vector index in Milvus, shared by all processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from adapters.per_event_loop import PerEventLoop
from adapters.vectors import milvus_changes as changes
from adapters.vectors.best_sections import NearestVectors, best_sections
from adapters.vectors.made_for import MadeFor
from adapters.vectors.milvus_changes import State
from adapters.vectors.milvus_collection import collection_name, latest, of_bin, of_lessons, safe
from adapters.vectors.milvus_connection import NO_COLLECTION, WHAT, MilvusAddress, MilvusConnection, explain
from adapters.vectors.remote_calls import RemoteCalls
from adapters.vectors.stored_vectors import finite
from application.learner.ports import StoredVectors, VectorHit, VectorIndex
from domain.errors import VectorsUnavailable
from domain.learner.lesson import Bin

_SEARCH_S: Final = 5.0
_OPEN_S: Final = 30.0
_WRITE_S: Final = 60.0
_LESSONS_AT_ONCE: Final = 500
_BYTES_AT_ONCE: Final = 8 << 20
_BULK: Final = 256
_COMPARED_AT_ONCE: Final = 400
_MOST_HITS: Final = 16_384
_BREADTH: Final = 200

Result = TypeVar("Result")


class MilvusIndex(VectorIndex):
    """See `milvus_collection` for how it stays right while several processes write to it."""

    def __init__(self, dsn: str) -> None:
        """Raises `InvalidConfiguration`. Nothing is reached yet, and pymilvus is not imported."""
        address = MilvusAddress.parse(dsn)
        self._connections = PerEventLoop(lambda: MilvusConnection(address))
        self._calls = RemoteCalls(WHAT, explain)
        self._state: State | None = None

    async def reach(self) -> None:
        await self._call(_SEARCH_S, lambda connection: connection.ask("list_collections"))

    async def prepare(self, embedder: str, dimension: int) -> int:
        made_for = MadeFor(embedder, dimension)
        self._state = await self._call(_OPEN_S, lambda connection: changes.opened(connection, made_for))
        return self._state.revision

    async def reset(self, embedder: str, dimension: int) -> None:
        made_for = MadeFor(embedder, dimension)
        self._state = await self._call(_OPEN_S, lambda connection: changes.emptied(connection, made_for))

    async def nearest(self, query: bytes, limit: int, bin: Bin | None = None) -> Sequence[VectorHit]:
        made_for = self._prepared().made_for
        made_for.check_query(query)
        vector = finite(query, made_for.dimension)[0]
        if limit <= 0:
            return []

        async def work(connection: MilvusConnection) -> Sequence[VectorHit]:
            if not vector.any():
                return await _first(connection, made_for, limit, bin)

            async def nearest_vectors(number: int) -> NearestVectors:
                return await _hits(connection, made_for, vector, of_bin(bin), number)

            return await best_sections(nearest_vectors, limit, _MOST_HITS)

        return await self._read(work)

    async def similarities(self, query: bytes, lesson_ids: Sequence[str]) -> dict[str, float]:
        made_for = self._prepared().made_for
        made_for.check_query(query)
        vector, asked = finite(query, made_for.dimension)[0], safe(lesson_ids)

        async def work(connection: MilvusConnection) -> dict[str, float]:
            best: dict[str, float] = {}
            for start in range(0, len(asked), _COMPARED_AT_ONCE):
                some = f"{of_bin(None)} and {of_lessons(asked[start : start + _COMPARED_AT_ONCE])}"
                for lesson_id, cosine in (await _hits(connection, made_for, vector, some, _MOST_HITS)).rows:
                    best[lesson_id] = max(cosine, best.get(lesson_id, -1.0))
            return best

        return await self._read(work)

    async def apply(self, put: Sequence[StoredVectors], remove: Sequence[str], revision: int) -> None:
        """Raises `EmbedderMismatch`, with nothing applied, for vectors of another embedder or dimension."""
        state = self._prepared()
        state.made_for.check_stored(put)
        lessons = [*((lesson_id, None) for lesson_id in safe(remove)), *((one.lesson_id, one) for one in put)]
        for some in portions(lessons):
            await self._write(state, some, revision)
        if len(put) >= _BULK:
            await self._call(_WRITE_S, lambda connection: changes.settle(connection, state))
        await self._call(_OPEN_S, lambda connection: changes.move_revision(connection, state, revision))

    async def aclose(self) -> None:
        """Closes the running event loop's connection; other loops close theirs when they end."""
        await self._connections.aclose()

    def _prepared(self) -> State:
        if self._state is None:
            raise VectorsUnavailable(f"{WHAT} has not been reached yet: try again shortly.")
        return self._state

    async def _write(self, state: State, lessons: Mapping[str, StoredVectors | None], revision: int) -> None:
        await self._call(_WRITE_S, lambda connection: changes.write(connection, state, lessons, revision))

    async def _read(self, work: Callable[[MilvusConnection], Awaitable[Result]]) -> Result:
        """Searches; where the collection is gone, the index may have become another embedder's."""

        async def checked(connection: MilvusConnection) -> Result:
            try:
                return await work(connection)
            except Exception as error:
                if getattr(error, "code", None) == NO_COLLECTION:
                    await changes.check(connection, self._prepared().made_for)
                raise

        return await self._call(_SEARCH_S, checked)

    async def _call(self, within_s: float, work: Callable[[MilvusConnection], Awaitable[Result]]) -> Result:
        async def call() -> Result:
            return await work(await self._connections.current())

        return await self._calls(within_s, call)


def portions(
    lessons: Sequence[tuple[str, StoredVectors | None]],
) -> Iterator[dict[str, StoredVectors | None]]:
    """Neighbouring lessons, as many as one message may well hold."""
    some: dict[str, StoredVectors | None] = {}
    size = 0
    for lesson_id, stored in lessons:
        if some and (len(some) == _LESSONS_AT_ONCE or size >= _BYTES_AT_ONCE):
            yield some
            some, size = {}, 0
        some[lesson_id] = stored
        size += len(stored.data) if stored else 0
    if some:
        yield some


async def _first(connection: MilvusConnection, made_for: MadeFor, limit: int, bin: Bin | None) -> Sequence[VectorHit]:
    """Lessons by id, all as similar as any to a query that has no features."""
    rows = await connection.call(
        "query", collection_name(made_for), filter=of_bin(bin), output_fields=["lesson_id"], limit=_MOST_HITS
    )
    ids = sorted({row["lesson_id"] for row in rows})
    return [VectorHit(lesson_id=lesson_id, similarity=0.0) for lesson_id in ids[:limit]]


async def _hits(
    connection: MilvusConnection, made_for: MadeFor, vector: Any, condition: str, number: int
) -> NearestVectors:
    """The nearest vectors that fulfil the condition; of a lesson only those of its latest version among them."""
    [hits] = await connection.call(
        "search",
        collection_name(made_for),
        data=[vector],
        limit=number,
        filter=condition,
        output_fields=["lesson_id", "revision"],
        search_params={"metric_type": "COSINE", "params": {"ef": max(number, _BREADTH)}},
    )
    rows = latest([{**hit["entity"], "cosine": min(1.0, max(-1.0, hit["distance"]))} for hit in hits])
    return NearestVectors([(row["lesson_id"], row["cosine"]) for row in rows], there_are_more=len(hits) == number)
