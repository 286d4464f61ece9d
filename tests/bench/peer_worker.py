"""One peer, in its own virtual environment: `python -m tests.bench.peer_worker NAME FOLDER`.

FOLDER holds the files of `peer_protocol.Catalog`. The peers are imported by name: they are installed nowhere else.
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

from tests.bench.peer_protocol import Add, Added, Catalog, Job, Link, Measured, Ready, Request, lesson_of
from tests.bench.recall import Vectors
from tests.bench.timing import of_each

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

    `asked` is how many vectors were asked for at most to have enough lessons.
    """

    def __init__(self, peer: Peer, catalog: Catalog) -> None:
        self.asked = 0
        self._peer = peer
        self._catalog = catalog
        self._top = catalog.plan.top

    def fill(self) -> None:
        """With the vectors of the catalog's lessons."""
        end = self._catalog.rows(self._catalog.plan.lessons).start
        for start in range(0, end, _AT_ONCE):
            self._add(slice(start, min(start + _AT_ONCE, end)))

    def add_vector(self, lesson: int) -> None:
        """One of the lesson's."""
        begin = self._catalog.rows(lesson).start
        self._add(slice(begin, begin + 1))

    def add_lesson(self, lesson: int) -> None:
        """All vectors of the lesson, in one call."""
        self._add(self._catalog.rows(lesson))

    def nearest_vectors(self, vector: Vectors) -> Sequence[str]:
        """Raises `RuntimeError` where too few are found."""
        found = self._peer.search(vector, self._top)
        if len(found) < self._top:
            raise RuntimeError(f"{self._peer.package} finds {len(found)} of {self._top} vectors")
        return found

    def nearest_lessons(self, vector: Vectors) -> Sequence[str]:
        """Of as many vectors as it takes to have enough different lessons: twice as many, or twice as many again.

        Raises `RuntimeError` where no more are found.
        """
        wanted = self._top
        while True:
            wanted *= 2
            found = self._peer.search(vector, wanted)
            lessons = _lessons_of(found)
            self.asked = max(self.asked, wanted)
            if len(lessons) >= self._top:
                return lessons
            if len(found) < wanted:
                raise RuntimeError(f"{self._peer.package} finds {len(lessons)} of {self._top} lessons")

    def _add(self, rows: slice) -> None:
        self._peer.add(self._catalog.names[rows], self._catalog.vectors[rows])
        self._catalog.has(rows)


def _lessons_of(ids: Sequence[str]) -> Sequence[str]:
    """The different lessons of these vectors, nearest first."""
    return [*dict.fromkeys(map(lesson_of, ids))]


class Worker:
    """Answers requests."""

    def __init__(self, lessons: Lessons, catalog: Catalog) -> None:
        self._lessons = lessons
        self._catalog = catalog
        self._plan = catalog.plan

    def answer(self, request: Request) -> Measured | Added:
        if isinstance(request, Add):
            calls = self._additions(self._plan.rounds)[request.job]
            return Added(len([call() for call in calls]))
        return self._round(request.number)

    def _round(self, number: int) -> Measured:
        found: dict[Job, list[Sequence[str]]] = {Job.VECTORS: [], Job.LESSONS: []}
        searches = {Job.VECTORS: self._lessons.nearest_vectors, Job.LESSONS: self._lessons.nearest_lessons}

        def search(job: Job, vector: Vectors) -> None:
            found[job].append(searches[job](vector))

        times = {job: of_each([partial(search, job, one) for one in self._catalog.queries]) for job in searches}
        recall = {job: self._catalog.recall(job, answers) for job, answers in found.items()}
        warm_ups = self._plan.warm_ups
        times |= {job: of_each(calls, warm_ups=warm_ups) for job, calls in self._additions(number).items()}
        among = statistics.mean(len(_lessons_of(one)) for one in found[Job.VECTORS])
        return Measured(times=times, recall=recall, asked=self._lessons.asked, among=round(among, 2))

    def _additions(self, number: int) -> dict[Job, list[Callable[[], None]]]:
        return {
            Job.ADD_VECTOR: [partial(self._lessons.add_vector, one) for one in self._plan.first(number)],
            Job.ADD_LESSON: [partial(self._lessons.add_lesson, one) for one in self._plan.second(number)],
        }


def main(name: str, folder: Path) -> None:
    """Fills the peer, and answers until no more requests come."""
    link, catalog = Link(), Catalog(folder)
    peer = _PEERS[name](folder)
    lessons = Lessons(peer, catalog)
    lessons.fill()
    lessons.nearest_vectors(catalog.queries[0])
    worker = Worker(lessons, catalog)
    link.send(Ready(f"{name} {importlib.metadata.version(peer.package)}"))
    while (request := link.receive()) is not None:
        link.send(worker.answer(request))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
