"""The same vectors, questions and machine for chromadb and mem0, which have a virtual environment of their own.

The service finds lessons and stores lessons, each with its log and about three vectors; a peer finds and stores
vectors. So a peer does two jobs: its own, and the service's with the means that it has.

`make bench-peers` sets that up. A peer that cannot be had is reported as such. Each, and the service's own part (which
is this module, run by itself), is a process on one and the same core.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import uvloop

from application.learner.ports import LessonChange
from application.learner.review import ReviewCommand
from domain.learner.lesson import Bin, Decision, Lesson, LessonDraft, decide, promoted_copy
from domain.learner.log import DECIDED, LogEntry
from entrypoints.container import LearnerContainer
from tests.bench import addition, catalogs, corpus, seeds
from tests.bench.addition import Addition
from tests.bench.processes import ROOT, SERVER_CORE, run_pinned
from tests.bench.scale import Scale
from tests.bench.search import TOP
from tests.bench.timing import Stage, Times, of_each_awaited, stages

PEERS = ("chromadb", "mem0")

_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
_ADDS = 100
_TIMEOUT_S = 1_800.0


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """`vectors` are the nearest `TOP` vectors, which are of `lessons_among_vectors` different lessons on average;
    `lessons` are the nearest `TOP` lessons, for which a peer is asked for `asked` vectors at most. `add_vector` and
    `add_lesson` are durable additions of one vector and of all of a lesson's, which are there already: with us the
    transaction that stores the promoted copy, its vectors and its log, and the index's taking it over. `addition` are
    our addition's parts; `promotion` is our whole decision, which also embeds the lesson and writes its file.
    """

    name: str
    vectors: Times | None = None
    lessons: Times | None = None
    asked: int | None = None
    lessons_among_vectors: float | None = None
    add_vector: Times | None = None
    add_lesson: Times | None = None
    addition: Sequence[Stage] = ()
    promotion: Times | None = None
    problem: str | None = None


class Ours(msgspec.Struct, frozen=True, kw_only=True):
    """The service, and what the disk that it is on takes by itself for a lesson's vectors."""

    found: Found
    bare_transaction: Times
    bare_flush: Times


class Job(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    lessons: int
    queries: int


def run(scale: Scale) -> dict[str, object]:
    """Us and each peer over the catalog of the hot path."""
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder:
        work = Path(folder)
        job = Job(folder=str(work), lessons=scale.lessons, queries=scale.repeats)
        answer = run_pinned("tests.bench.peers", msgspec.json.encode(job), SERVER_CORE, timeout_s=_TIMEOUT_S)
        ours = msgspec.json.decode(answer, type=Ours)
        theirs = [_peer(name, work) for name in PEERS]
    return {
        "lessons": scale.lessons,
        "top": TOP,
        "found": [ours.found, *theirs],
        "row_bytes": addition.ROW_BYTES,
        "bare_transaction": ours.bare_transaction,
        "bare_flush": ours.bare_flush,
    }


async def _ours(job: Job) -> Ours:
    """Also writes down what the peers are to work on."""
    work, seeded = Path(job.folder), seeds.lesson_catalog(job.lessons)
    file = work / "lessons.db"
    shutil.copyfile(seeded.file, file)
    folder = work / "lessons"
    shutil.copytree(seeded.folder, folder)
    async with catalogs.opened(file, folder) as learner:
        queries = await learner.embedder().embed([corpus.question(number) for number in range(job.queries)])
        index = learner.vectors()
        await index.nearest(queries[0], TOP)
        nearest = await of_each_awaited([partial(index.nearest, one, TOP) for one in queries])
        lessons = await learner.inject()(_drafts(), actor="bench")
        changes = [await _change(learner, one) for one in lessons[:_ADDS]]
        commands = [
            ReviewCommand(lesson_id=one.id, decision=Decision.APPROVE, actor="bench") for one in lessons[_ADDS:]
        ]
        added = Addition(learner)
        add = await of_each_awaited([partial(added, one) for one in changes])
        promotion = await of_each_awaited([partial(learner.review(), one) for one in commands])
    _write_down(work, seeded.file, queries)
    found = Found(name="memorygrid", lessons=nearest, add_lesson=add, addition=stages(added.parts), promotion=promotion)
    return Ours(
        found=found,
        bare_transaction=addition.bare_transaction(work, _ADDS),
        bare_flush=addition.bare_flush(work, _ADDS),
    )


async def _change(learner: LearnerContainer, lesson: Lesson) -> LessonChange:
    """The promotion of a lesson, with its vectors, ready to be stored."""
    now = learner.clock().now()
    after = decide(lesson, Decision.APPROVE, at=now)
    copy = promoted_copy(after, at=now)
    return LessonChange(
        lesson=after,
        expected=lesson,
        log=[LogEntry(lesson_id=lesson.id, event=DECIDED[Decision.APPROVE], at=now, actor="bench", detail={})],
        promote=copy,
        vectors=(await learner.embed()([copy]))[0],
    )


def _drafts() -> list[LessonDraft]:
    lessons = [corpus.lesson(1_000_000 + number) for number in range(2 * _ADDS)]
    return [LessonDraft(bin=Bin.SKILLS, title=one.title, body=one.body, tags=one.tags) for one in lessons]


def _write_down(work: Path, file: Path, queries: Sequence[bytes]) -> None:
    stored = list(seeds.vectors_of(file))
    dimension = stored[0].dimension
    vectors = np.frombuffer(b"".join(one.data for one in stored), "<f4").reshape(-1, dimension)
    np.save(work / "vectors.npy", vectors)
    np.save(work / "owners.npy", np.repeat(np.arange(len(stored)), [one.count for one in stored]))
    np.save(work / "queries.npy", np.frombuffer(b"".join(queries), "<f4").reshape(-1, dimension))


def _peer(name: str, work: Path) -> Found:
    if not _PYTHON.exists():
        return Found(name=name, problem="not installed: make bench-peers")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False"}
    environment |= {"HOME": str(work), "MEM0_DIR": str(work / "mem0-home"), "OPENAI_API_KEY": "none"}
    pinned = ["taskset", "--cpu-list", str(SERVER_CORE), str(_PYTHON)]
    command = [*pinned, "-m", "tests.bench.peer_worker", name, str(work), str(TOP), str(_ADDS)]
    done = subprocess.run(
        command, cwd=work, env=environment, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
    )
    if done.returncode:
        return Found(name=name, problem=(done.stderr.strip().splitlines() or ["it failed"])[-1])
    answer: dict[str, Any] = msgspec.json.decode(done.stdout.splitlines()[-1])
    return msgspec.convert({"name": f"{name} {answer.pop('version')}", **answer}, Found)


if __name__ == "__main__":
    sys.stdout.buffer.write(
        msgspec.json.encode(uvloop.run(_ours(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))))
    )
