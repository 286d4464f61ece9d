"""The vector stores that several processes share, and small vectors to put into them."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from adapters.vectors.milvus_index import MilvusIndex
from adapters.vectors.pgvector_index import PgvectorIndex
from application.learner.ports import StoredVectors, VectorIndex
from domain.learner.lesson import Bin
from tests.servers.milvus import MilvusServer
from tests.servers.postgres import PostgresServer
from tests.servers.process import ServerProcess

EMBEDDER = "test-v1"
DIMENSION = 4
QUERY = struct.pack("<4f", 1, 0, 0, 0)


class Kind(NamedTuple):
    """A kind of vector store. `address` gives the DSN of an empty store on a server, `open` an index on a store."""

    server: type[ServerProcess]
    address: Callable[[ServerProcess, str], str]
    open: Callable[[str], VectorIndex]


def _database(server: ServerProcess, name: str) -> str:
    assert isinstance(server, PostgresServer)
    return server.create_database(name)


def _uri(server: ServerProcess, _: str) -> str:
    assert isinstance(server, MilvusServer)
    return server.uri


KINDS = {
    "pgvector": Kind(PostgresServer, _database, PgvectorIndex),
    "milvus": Kind(MilvusServer, _uri, MilvusIndex),
}


def towards(cosine: float, dimension: int = DIMENSION) -> bytes:
    """A vector of length 1 that has this cosine with `QUERY` (or with its like of another dimension)."""
    return struct.pack(f"<{dimension}f", cosine, math.sqrt(1 - cosine * cosine), *[0.0] * (dimension - 2))


def stored(lesson_id: str, *vectors: bytes, bin: Bin = Bin.SKILLS, embedder: str = EMBEDDER) -> StoredVectors:
    dimension = len(vectors[0]) // 4
    return StoredVectors(
        lesson_id=lesson_id, bin=bin, embedder=embedder, dimension=dimension, count=len(vectors), data=b"".join(vectors)
    )


async def found(index: VectorIndex, query: bytes = QUERY, limit: int = 50, bin: Bin | None = None) -> dict[str, float]:
    """Lesson ids with similarities, to two digits."""
    hits: Sequence[object] = await index.nearest(query, limit, bin)
    return {hit.lesson_id: round(hit.similarity, 2) for hit in hits}  # type: ignore[attr-defined]
