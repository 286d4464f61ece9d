"""One peer, in its own virtual environment: `python -m tests.bench.peer_worker NAME FOLDER TOP ADDS`.

FOLDER holds `vectors.npy`, `owners.npy` (the number of the lesson of each vector; a lesson's stand together) and
`queries.npy`. One line of JSON comes out. The peers are imported by name, since they are installed nowhere else.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import statistics
import sys
from collections.abc import Callable, Sequence
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
    """What is measured of a peer: adding vectors durably in one call, and the nearest `top` of a query vector."""

    package = ""

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        raise NotImplementedError

    def search(self, vector: Vectors, top: int) -> Sequence[str]:
        """The ids of those that were found, nearest first."""
        raise NotImplementedError


class Chroma(Peer):
    """A persistent collection, cosine distance."""

    package = "chromadb"

    def __init__(self, folder: Path) -> None:
        client = importlib.import_module("chromadb").PersistentClient(path=str(folder / "chroma"))
        self._collection = client.create_collection("lessons", metadata={"hnsw:space": "cosine"})

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        self._collection.add(ids=[*ids], embeddings=[*vectors], documents=[f"lesson {one}" for one in ids])

    def search(self, vector: Vectors, top: int) -> Sequence[str]:
        found: list[str] = self._collection.query(query_embeddings=[vector], n_results=top)["ids"][0]
        return found


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

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        payloads = [{"data": f"lesson {one}", "user_id": "bench"} for one in ids]
        self._memory.vector_store.insert(vectors=vectors.tolist(), payloads=payloads, ids=[*ids])

    def search(self, vector: Vectors, top: int) -> Sequence[str]:
        self._memory.embedding_model.vector = vector.tolist()
        results = self._memory.search("a question", top_k=top, filters={"user_id": "bench"})["results"]
        return [one["id"] for one in results]


class _Given:
    """An embedder that answers with the vector it was given."""

    def __init__(self) -> None:
        self.vector: list[float] = []

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.vector


_PEERS: dict[str, Callable[[Path], Peer]] = {"chromadb": Chroma, "mem0": Mem0}


class Lessons:
    """The catalog as the peer holds it: each vector by an id that tells its lesson.

    `asked` is how many vectors were asked for at most to have enough lessons; `among`, of how many
    lessons the nearest vectors of each query were.
    """

    def __init__(self, peer: Peer, folder: Path) -> None:
        self.asked = 0
        self.among: list[int] = []
        self._peer = peer
        self._vectors: Vectors = np.load(folder / "vectors.npy")
        self._owners: list[int] = np.load(folder / "owners.npy").tolist()
        self._begin = {owner: at for at, owner in reversed([*enumerate(self._owners)])}
        self.count = len(self._begin)

    def fill(self, lessons: int) -> None:
        """With the vectors of the first so many lessons."""
        end = self._begin[lessons]
        for start in range(0, end, _AT_ONCE):
            self._add(start, min(start + _AT_ONCE, end))

    def add_vector(self, lesson: int) -> None:
        """One of the lesson's."""
        self._add(self._begin[lesson], self._begin[lesson] + 1)

    def add_lesson(self, lesson: int) -> None:
        """All vectors of the lesson, in one call."""
        self._add(self._begin[lesson], self._begin.get(lesson + 1, len(self._owners)))

    def nearest_vectors(self, vector: Vectors, top: int) -> None:
        """Raises `RuntimeError` where fewer than `top` are found."""
        found = self._peer.search(vector, top)
        if len(found) < top:
            raise RuntimeError(f"{self._peer.package} finds {len(found)} of {top} vectors")
        self.among.append(len(_lessons_of(found)))

    def nearest_lessons(self, vector: Vectors, top: int) -> None:
        """As many vectors as it takes to have `top` different lessons: twice as many, or twice as many again.

        Raises `RuntimeError` where no more are found.
        """
        wanted = top
        while True:
            wanted *= 2
            found = self._peer.search(vector, wanted)
            lessons = _lessons_of(found)
            self.asked = max(self.asked, wanted)
            if len(lessons) >= top:
                return
            if len(found) < wanted:
                raise RuntimeError(f"{self._peer.package} finds {len(lessons)} of {top} lessons")

    def _add(self, start: int, end: int) -> None:
        self._peer.add([f"{self._owners[at]}/{at}" for at in range(start, end)], self._vectors[start:end])


def _lessons_of(ids: Sequence[str]) -> Sequence[str]:
    """The different lessons of these vectors, nearest first."""
    return [*dict.fromkeys(one.partition("/")[0] for one in ids)]


def main(name: str, folder: Path, top: int, adds: int) -> None:
    """The last lessons are left out of the filling, and added one by one."""
    queries: Vectors = np.load(folder / "queries.npy")
    peer = _PEERS[name](folder)
    lessons = Lessons(peer, folder)
    there = lessons.count - 2 * adds
    lessons.fill(there)
    lessons.nearest_vectors(queries[0], top)
    found = {
        "version": importlib.metadata.version(peer.package),
        "vectors": of_each([partial(lessons.nearest_vectors, one, top) for one in queries]),
        "lessons": of_each([partial(lessons.nearest_lessons, one, top) for one in queries]),
        "asked": lessons.asked,
        "lessons_among_vectors": round(statistics.mean(lessons.among), 2),
        "add_vector": of_each([partial(lessons.add_vector, there + at) for at in range(adds)]),
        "add_lesson": of_each([partial(lessons.add_lesson, there + adds + at) for at in range(adds)]),
    }
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
