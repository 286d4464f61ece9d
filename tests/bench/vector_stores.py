"""The vector stores side by side: filling, searching and changing them, on servers of the machine itself.

    python -m tests.bench.vector_stores --lessons 1000 --lessons 10000 --out FILE

The lessons are those of `corpus`, with three vectors of the hashing embedder each. Recall is against exact search.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import msgspec

from adapters.embedders.hashing_embedder import HashingEmbedder
from adapters.vectors.memory_vector_index import MemoryVectorIndex
from adapters.vectors.milvus_index import MilvusIndex
from adapters.vectors.pgvector_index import PgvectorIndex
from application.learner.embed import EmbedLessons
from application.learner.ports import StoredVectors, VectorIndex
from domain.learner.lesson import Bin
from tests.bench import corpus
from tests.bench.timing import Times, of_each_awaited
from tests.servers.milvus import MilvusServer
from tests.servers.postgres import PostgresServer

TOP = 50
QUERIES = 100
CHANGES = 20
PAGE = 500


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Of one store with one catalog. `recall` is the share of the exact 50 nearest lessons that it finds."""

    store: str
    lessons: int
    vectors: int
    seconds_to_fill: float
    nearest: Times
    nearest_in_a_bin: Times
    change: Times
    recall: float


@asynccontextmanager
async def _memory() -> AsyncIterator[VectorIndex]:
    yield MemoryVectorIndex()


@asynccontextmanager
async def _pgvector() -> AsyncIterator[VectorIndex]:
    with PostgresServer(settings={"shared_buffers": "512MB"}) as server:
        index = PgvectorIndex(server.create_database("vectors"))
        yield index
        await index.aclose()


@asynccontextmanager
async def _milvus() -> AsyncIterator[VectorIndex]:
    with MilvusServer() as server:
        index = MilvusIndex(server.uri)
        yield index
        await index.aclose()


STORES: dict[str, Callable[[], AbstractAsyncContextManager[VectorIndex]]] = {
    "memory": _memory,
    "pgvector": _pgvector,
    "milvus-lite": _milvus,
}


async def _measured(store: str, lessons: Sequence[StoredVectors], queries: Sequence[bytes]) -> Figures:
    exact = MemoryVectorIndex()
    await _fill(exact, lessons)
    expected = [{hit.lesson_id for hit in await exact.nearest(query, TOP)} for query in queries]
    async with STORES[store]() as index:
        seconds_to_fill = await _fill(index, lessons)
        found = [{hit.lesson_id for hit in await index.nearest(query, TOP)} for query in queries]
        revision = len(lessons)
        changes = [partial(index.apply, [one], [], revision + n) for n, one in enumerate(lessons[:CHANGES], 1)]
        shares = [len(one & other) / len(other) for one, other in zip(found, expected, strict=True)]
        return Figures(
            store=store,
            lessons=len(lessons),
            vectors=sum(one.count for one in lessons),
            seconds_to_fill=round(seconds_to_fill, 1),
            nearest=await of_each_awaited([partial(index.nearest, query, TOP) for query in queries]),
            nearest_in_a_bin=await of_each_awaited([partial(index.nearest, one, TOP, Bin.SKILLS) for one in queries]),
            change=await of_each_awaited(changes),
            recall=round(sum(shares) / len(shares), 4),
        )


async def _fill(index: VectorIndex, lessons: Sequence[StoredVectors]) -> float:
    """Seconds for the whole catalog, as a rebuild applies it."""
    await index.prepare(lessons[0].embedder, lessons[0].dimension)
    began = time.perf_counter()
    for start in range(0, len(lessons), PAGE):
        page = lessons[start : start + PAGE]
        await index.apply(page, [], start + len(page))
    await index.apply([], [], len(lessons))
    return time.perf_counter() - began


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lessons", type=int, action="append", required=True)
    parser.add_argument("--store", choices=STORES, action="append", help="default: all")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    embedder = HashingEmbedder()
    embed = EmbedLessons(embedder=embedder)
    queries = list(await embedder.embed([corpus.question(number) for number in range(QUERIES)]))
    figures = []
    for count in given.lessons:
        lessons = await embed([corpus.lesson(number) for number in range(count)])
        for store in given.store or STORES:
            figures.append(await _measured(store, lessons, queries))
            print(msgspec.json.encode(figures[-1]).decode(), flush=True)
    given.out.write_text(json.dumps(msgspec.to_builtins(figures), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    anyio.run(main)
