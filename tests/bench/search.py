"""Search: the vector index against bare NumPy on the same vectors, phrases against SQL LIKE, memory and recall.

Run as `python -m tests.bench.search` it measures one catalog, in a process of its own, so that memory is told apart.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import uvloop

from application.learner.ports import TextIndex, VectorIndex
from tests.bench import catalogs, corpus, seeds
from tests.bench.processes import SERVER_CORE, Memory, memory, run_pinned
from tests.bench.recall import Vectors, recall
from tests.bench.scale import Scale
from tests.bench.timing import Times, of_each, of_each_awaited

TOP = 10

_TIMEOUT_S = 1_800.0

_LIKE = "SELECT lesson_id FROM promoted_lessons WHERE title LIKE ? OR body LIKE ?"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    folder: str
    lessons: int
    queries: int


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One catalog. `recall` is the share of the exact ten nearest that the index finds."""

    lessons: int
    vectors: int
    dimension: int
    index: Times
    numpy: Times
    recall: float
    memory: Memory
    memory_before: Memory
    phrase: Times
    like: Times
    whole_search: Times


def run(scale: Scale) -> dict[str, object]:
    """The catalog of the hot path, and the large one."""
    return {"catalogs": [_measured(count, scale) for count in sorted({scale.lessons, scale.many_lessons})]}


def _measured(count: int, scale: Scale) -> Found:
    catalog = seeds.lesson_catalog(count)
    job = Job(file=str(catalog.file), folder=str(catalog.folder), lessons=count, queries=scale.repeats)
    return msgspec.json.decode(
        run_pinned("tests.bench.search", msgspec.json.encode(job), SERVER_CORE, timeout_s=_TIMEOUT_S), type=Found
    )


async def _measure(job: Job) -> Found:
    before = memory(os.getpid())
    async with catalogs.opened(Path(job.file), Path(job.folder)) as learner:
        held = memory(os.getpid())
        questions = [corpus.question(number) for number in range(job.queries)]
        embedded = await learner.embedder().embed(questions)
        index: VectorIndex = learner.vectors()
        await index.nearest(embedded[0], TOP)
        times = await of_each_awaited([partial(index.nearest, one, TOP) for one in embedded])
        nearest = [[hit.lesson_id for hit in await index.nearest(one, TOP)] for one in embedded]
        phrases, like = await _phrases(learner.texts(), job)
        search = learner.search()
        whole = await of_each_awaited([partial(search.most_similar, one, TOP) for one in questions])
    matrix, owners = _matrix(Path(job.file))
    vectors = [np.frombuffer(one, "<f4") for one in embedded]
    return Found(
        lessons=job.lessons,
        vectors=len(matrix),
        dimension=matrix.shape[1],
        index=times,
        numpy=_bare(matrix, vectors),
        recall=recall(matrix, owners, vectors, nearest, TOP),
        memory=held,
        memory_before=before,
        phrase=phrases,
        like=like,
        whole_search=whole,
    )


async def _phrases(texts: TextIndex, job: Job) -> tuple[Times, Times]:
    """Titles' phrases, each of which some lesson contains: the text index, and SQL LIKE over the same lessons."""
    step = max(1, job.lessons // job.queries)
    phrases = [corpus.lesson(number * step).title for number in range(min(job.queries, job.lessons))]
    await texts.containing(phrases[0])
    ours = await of_each_awaited([partial(texts.containing, one) for one in phrases])
    with sqlite3.connect(job.file) as connection:

        def like(phrase: str) -> None:
            connection.execute(_LIKE, (f"%{phrase}%", f"%{phrase}%")).fetchall()

        theirs = of_each([partial(like, one) for one in phrases[:20]])
    return ours, theirs


def _matrix(file: Path) -> tuple[Vectors, list[str]]:
    """All vectors, and whose each is."""
    stored = list(seeds.vectors_of(file))
    owners = [one.lesson_id for one in stored for _ in range(one.count)]
    return np.frombuffer(b"".join(one.data for one in stored), "<f4").reshape(len(owners), -1), owners


def _bare(matrix: Vectors, vectors: Sequence[Vectors]) -> Times:
    """What NumPy alone takes."""

    def nearest(vector: Vectors) -> None:
        cosines = matrix @ vector
        np.argpartition(cosines, -TOP)[-TOP:]

    nearest(vectors[0])
    return of_each([partial(nearest, one) for one in vectors])


if __name__ == "__main__":
    sys.stdout.buffer.write(
        msgspec.json.encode(uvloop.run(_measure(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))))
    )
