"""One peer, in its own virtual environment: `python -m tests.bench.peer_worker NAME FOLDER TOP ADDS`.

FOLDER holds `vectors.npy` and `queries.npy`. One line of JSON comes out. The peers are imported by name, since they are
installed nowhere else.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tests.bench.timing import of_each

Vectors = NDArray[np.float32]

_AT_ONCE = 1_000


class Peer:
    """What is measured of a peer: adding one vector durably, and the nearest `top` of a query vector."""

    package = ""

    def fill(self, vectors: Vectors) -> None:
        raise NotImplementedError

    def add(self, number: int, vector: Vectors) -> None:
        raise NotImplementedError

    def search(self, vector: Vectors, top: int) -> int:
        """How many were found."""
        raise NotImplementedError


class Chroma(Peer):
    """A persistent collection, cosine distance."""

    package = "chromadb"

    def __init__(self, folder: Path) -> None:
        client = importlib.import_module("chromadb").PersistentClient(path=str(folder / "chroma"))
        self._collection = client.create_collection("lessons", metadata={"hnsw:space": "cosine"})

    def fill(self, vectors: Vectors) -> None:
        for start in range(0, len(vectors), _AT_ONCE):
            some = vectors[start : start + _AT_ONCE]
            ids = [str(start + at) for at in range(len(some))]
            self._collection.add(ids=ids, embeddings=some, documents=[f"lesson {one}" for one in ids])

    def add(self, number: int, vector: Vectors) -> None:
        self._collection.add(ids=[f"new-{number}"], embeddings=[vector], documents=[f"lesson {number}"])

    def search(self, vector: Vectors, top: int) -> int:
        return len(self._collection.query(query_embeddings=[vector], n_results=top)["ids"][0])


class Mem0(Peer):
    """`Memory.search` over faiss; its embedder answers with the vectors that are given."""

    package = "mem0ai"

    def __init__(self, folder: Path) -> None:
        path = str(folder / "mem0")
        vector_store = {
            "provider": "faiss",
            "config": {"collection_name": "lessons", "path": path, "embedding_model_dims": 1_024},
        }
        config = {"vector_store": vector_store, "history_db_path": str(folder / "history.db")}
        self._memory: Any = importlib.import_module("mem0").Memory.from_config(config)
        self._memory.embedding_model = _Given()

    def fill(self, vectors: Vectors) -> None:
        for start in range(0, len(vectors), _AT_ONCE):
            self._insert([str(start + at) for at in range(_AT_ONCE)], vectors[start : start + _AT_ONCE])

    def add(self, number: int, vector: Vectors) -> None:
        self._insert([f"new-{number}"], vector[np.newaxis])

    def search(self, vector: Vectors, top: int) -> int:
        self._memory.embedding_model.vector = vector.tolist()
        return len(self._memory.search("a question", top_k=top, filters={"user_id": "bench"})["results"])

    def _insert(self, ids: list[str], vectors: Vectors) -> None:
        payloads = [{"data": f"lesson {one}", "user_id": "bench"} for one in ids[: len(vectors)]]
        self._memory.vector_store.insert(vectors=vectors.tolist(), payloads=payloads, ids=ids[: len(vectors)])


class _Given:
    """An embedder that answers with the vector it was given."""

    def __init__(self) -> None:
        self.vector: list[float] = []

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.vector


_PEERS: dict[str, Callable[[Path], Peer]] = {"chromadb": Chroma, "mem0": Mem0}


def main(name: str, folder: Path, top: int, adds: int) -> None:
    vectors, queries = np.load(folder / "vectors.npy"), np.load(folder / "queries.npy")
    peer = _PEERS[name](folder)
    peer.fill(vectors[:-adds])
    if peer.search(queries[0], top) != top:
        raise RuntimeError(f"{name} does not find {top}")
    search = of_each([partial(peer.search, one, top) for one in queries])
    add = of_each([partial(peer.add, at, vectors[at - adds]) for at in range(adds)])
    version = importlib.metadata.version(peer.package)
    print(msgspec.json.encode({"version": version, "search": search, "add": add}).decode())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
