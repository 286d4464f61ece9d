"""The vector stores side by side: filling, searching and changing them, on servers of this machine.

Run as `python -m tests.bench.vector_stores` it measures one store with one catalog, in a process of its own. Recall is
against the exact answer.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import msgspec
import uvloop

from adapters.embedders.hashing_embedder import HashingEmbedder
from adapters.vectors.memory_vector_index import MemoryVectorIndex
from adapters.vectors.milvus_index import MilvusIndex
from adapters.vectors.pgvector_index import PgvectorIndex
from application.learner.ports import StoredVectors, VectorIndex
from domain.learner.lesson import Bin
from tests.bench import corpus, seeds
from tests.bench.processes import family, run_pinned, share_of_memory
from tests.bench.scale import Scale
from tests.bench.timing import Times, of_each_awaited
from tests.servers.milvus import MilvusServer
from tests.servers.postgres import PostgresServer
from tests.servers.process import ServerProcess

TOP = 10

_CHANGES = 20
_PAGE = 500
_LONGEST_FILL_S = 900.0
_TIMEOUT_S = 2_400.0
_EXACT = 1 << 40


class Job(msgspec.Struct, frozen=True, kw_only=True):
    store: str
    lessons: int
    queries: int


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One store with one catalog. `recall` is the share of the exact ten nearest lessons that it finds, `memory_mb`
    by how much the resident memory of the store's processes grew. A `problem` where it could not be filled in time.
    """

    store: str
    lessons: int
    vectors: int
    seconds_to_fill: float
    memory_mb: float
    nearest: Times | None = None
    nearest_in_a_bin: Times | None = None
    change: Times | None = None
    recall: float | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Store:
    """A store that is open, and the processes that hold its data."""

    index: VectorIndex
    pids: Callable[[], Sequence[int]]


@asynccontextmanager
async def _memory() -> AsyncIterator[Store]:
    yield Store(MemoryVectorIndex(), lambda: [os.getpid()])


@asynccontextmanager
async def _pgvector() -> AsyncIterator[Store]:
    with PostgresServer(settings={"shared_buffers": "512MB", "maintenance_work_mem": "512MB"}) as server:
        index = PgvectorIndex(server.create_database("vectors"))
        yield Store(index, partial(_family, server))
        await index.aclose()


@asynccontextmanager
async def _milvus() -> AsyncIterator[Store]:
    with MilvusServer() as server:
        index = MilvusIndex(server.uri)
        yield Store(index, partial(_family, server))
        await index.aclose()


STORES: dict[str, Callable[[], AbstractAsyncContextManager[Store]]] = {
    "memory": _memory,
    "pgvector": _pgvector,
    "milvus lite": _milvus,
}


def run(scale: Scale) -> dict[str, object]:
    """Each store with each catalog of a thousand lessons and more."""
    sizes = [size for size in scale.growing_lessons if size >= 1_000]
    return {"top": TOP, "stores": [_in_a_process(store, size, scale) for size in sizes for store in STORES]}


def _in_a_process(store: str, lessons: int, scale: Scale) -> Found:
    job = msgspec.json.encode(Job(store=store, lessons=lessons, queries=scale.repeats))
    found = msgspec.json.decode(run_pinned("tests.bench.vector_stores", job, None, _TIMEOUT_S), type=Found)
    print(msgspec.json.encode(found).decode(), file=sys.stderr, flush=True)
    return found


async def _measure(job: Job) -> Found:
    lessons = list(seeds.vectors_of(seeds.lesson_catalog(job.lessons).file))
    queries = list(await HashingEmbedder().embed([corpus.question(number) for number in range(job.queries)]))
    expected = await _exactly(lessons, queries)
    async with STORES[job.store]() as store:
        before = _held(store)
        began = time.perf_counter()
        filled = await _filled(store.index, lessons)
        found = Found(
            store=job.store,
            lessons=len(lessons),
            vectors=sum(one.count for one in lessons),
            seconds_to_fill=round(time.perf_counter() - began, 1),
            memory_mb=round(_held(store) - before, 1),
        )
        if filled < len(lessons):
            return msgspec.structs.replace(found, problem=f"{filled:,} lessons in {_LONGEST_FILL_S:g} s")
        return await _asked(store.index, found, lessons, queries, expected)


async def _asked(
    index: VectorIndex,
    found: Found,
    lessons: Sequence[StoredVectors],
    queries: Sequence[bytes],
    expected: Sequence[set[str]],
) -> Found:
    answers = [{hit.lesson_id for hit in await index.nearest(query, TOP)} for query in queries]
    shares = [len(answer & exact) / len(exact) for answer, exact in zip(answers, expected, strict=True)]
    changes = [partial(index.apply, [one], [], len(lessons) + n) for n, one in enumerate(lessons[:_CHANGES], 1)]
    return msgspec.structs.replace(
        found,
        nearest=await of_each_awaited([partial(index.nearest, query, TOP) for query in queries]),
        nearest_in_a_bin=await of_each_awaited([partial(index.nearest, one, TOP, Bin.SKILLS) for one in queries]),
        change=await of_each_awaited(changes),
        recall=round(sum(shares) / len(shares), 4),
    )


async def _exactly(lessons: Sequence[StoredVectors], queries: Sequence[bytes]) -> list[set[str]]:
    exact = MemoryVectorIndex(exact_bytes=_EXACT)
    await _filled(exact, lessons)
    return [{hit.lesson_id for hit in await exact.nearest(query, TOP)} for query in queries]


async def _filled(index: VectorIndex, lessons: Sequence[StoredVectors]) -> int:
    """How many lessons are in it: the whole catalog, as a rebuild applies it, unless that takes too long."""
    await index.prepare(lessons[0].embedder, lessons[0].dimension)
    began = time.perf_counter()
    for start in range(0, len(lessons), _PAGE):
        page = lessons[start : start + _PAGE]
        await index.apply(page, [], start + len(page))
        if time.perf_counter() - began > _LONGEST_FILL_S:
            return start + len(page)
    await index.apply([], [], len(lessons))  # when nothing more comes, pgvector builds its index
    return len(lessons)


def _held(store: Store) -> float:
    return sum(share_of_memory(pid) for pid in store.pids())


def _family(server: ServerProcess) -> Sequence[int]:
    return family(server.pid) if server.pid is not None else ()


if __name__ == "__main__":
    sys.stdout.buffer.write(
        msgspec.json.encode(uvloop.run(_measure(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))))
    )
