"""The same vectors, questions and machine for chromadb and mem0, which have a virtual environment of their own.

The service finds lessons and stores lessons, each with its log and about three vectors; a peer finds and stores
vectors. So a peer does two jobs: its own, and the service's with the means that it has.

Each is a process of its own on one and the same core, all are filled first, and then they take turns: A B C, A B C, ….
Only one works at a time, and what it has left to the kernel to write is on the disk before the next one's turn.
`make bench-peers` sets that up. A peer that cannot be had is reported as such.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import anyio
import msgspec
import numpy as np

from adapters.embedders.hashing_embedder import HashingEmbedder
from application.learner.embed import EmbedLessons
from tests.bench import addition, corpus, peer_rounds, seeds
from tests.bench.durability import Durability, durability
from tests.bench.own_worker import FIRST_NEW
from tests.bench.participants import Participant, ParticipantFailed
from tests.bench.peer_protocol import Add, Added, Catalog, Job, Measured, Plan, Ready, Round
from tests.bench.peer_rounds import Figure
from tests.bench.processes import ROOT
from tests.bench.scale import Scale
from tests.bench.search import TOP

PEERS = ("chromadb", "mem0")

_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
_NOT_INSTALLED = "not installed: make bench-peers"
_WARM_UPS = 4
_FILLED_WITHIN_S = 900.0
_ANSWERS_WITHIN_S = 300.0
_TIMED = (Job.VECTORS, Job.LESSONS, Job.ADD_VECTOR, Job.ADD_LESSON, Job.PROMOTION)
_FLOORS = (Job.BARE_TRANSACTION, Job.BARE_FLUSH)
_OWN_ADDITIONS = (Job.ADD_LESSON, Job.PROMOTION)
_ADDITIONS = (Job.ADD_VECTOR, Job.ADD_LESSON)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """`vectors` are the nearest `TOP` vectors, which are of `among` different lessons on average; `lessons` are the
    nearest `TOP` lessons, for which a peer is asked for `asked` vectors at most. `add_vector` and `add_lesson` are
    durable additions of one vector and of all of a lesson's, which are there already: with us the transaction that
    stores the promoted copy, its vectors and its log, and the index's taking it over. `promotion` is our whole
    decision, which also embeds the lesson and writes its file.
    """

    name: str
    figures: dict[Job, Figure] = {}
    recall: dict[Job, float] = {}
    durability: dict[Job, Durability] = {}
    asked: int | None = None
    among: float | None = None
    problem: str | None = None


class Entrant:
    """One that takes part, with what has been measured of it so far. `problem` says why a peer takes part no longer;
    where the `indispensable` one fails, that is raised.
    """

    def __init__(
        self, name: str, participant: Participant | None, additions: Sequence[Job], *, indispensable: bool = False
    ) -> None:
        self.name = name
        self.rounds: list[Measured] = []
        self.durability: dict[Job, Durability] = {}
        self.problem = _NOT_INSTALLED if participant is None else None
        self._participant = participant
        self._additions = additions
        self._indispensable = indispensable

    def fill(self) -> None:
        def turn(participant: Participant) -> None:
            self.name = participant.answer(Ready, _FILLED_WITHIN_S).name

        self._take("not filled", turn)

    def measure(self, number: int) -> None:
        """Each job's share of this round."""

        def turn(participant: Participant) -> None:
            self.rounds.append(participant.ask(Round(number), Measured, _ANSWERS_WITHIN_S))

        self._take(f"round {number + 1}", turn)

    def count(self) -> None:
        """What additions make durable."""

        def turn(participant: Participant) -> None:
            for job in self._additions:
                self.durability[job] = durability(participant.pid, partial(_added, participant, job))

        self._take("counting what it makes durable", turn)

    def found(self, ours: Sequence[Measured]) -> Found:
        if self.problem is not None:
            return Found(name=self.name, problem=self.problem)
        return Found(
            name=self.name,
            figures=peer_rounds.figures(self.rounds, ours, _TIMED),
            recall=peer_rounds.recall(self.rounds),
            durability=self.durability,
            asked=self.rounds[-1].asked,
            among=self.rounds[0].among,
        )

    def _take(self, what: str, turn: Callable[[Participant], None]) -> None:
        if self._participant is None or self.problem is not None:
            return
        try:
            turn(self._participant)
        except ParticipantFailed as failed:
            if self._indispensable:
                raise
            self.problem = f"{what}: {failed}"


def _added(participant: Participant, job: Job) -> int:
    return participant.ask(Add(job), Added, _ANSWERS_WITHIN_S).additions


def run(scale: Scale) -> dict[str, object]:
    """Us and each peer over the catalog of the hot path. Raises `ParticipantFailed` where our own part fails."""
    plan = Plan(lessons=scale.lessons, top=TOP, rounds=scale.rounds, warm_ups=_WARM_UPS, additions=scale.repeats // 10)
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder, ExitStack() as stack:
        work = Path(folder)
        write_down(work, plan, scale.repeats)
        own = Entrant("memorygrid", stack.enter_context(_own(work)), _OWN_ADDITIONS, indispensable=True)
        peers = [Entrant(name, _entered(stack, name, work), _ADDITIONS) for name in PEERS]
        take_turns([own, *peers], plan.rounds)
    return {
        "lessons": plan.lessons,
        "top": TOP,
        "rounds": plan.rounds,
        "additions": plan.additions,
        "found": [one.found(own.rounds) for one in (own, *peers)],
        "parts": peer_rounds.parts(own.rounds),
        "row_bytes": addition.ROW_BYTES,
        **{job.value: peer_rounds.floor(job, own.rounds) for job in _FLOORS},
    }


def take_turns(entrants: Sequence[Entrant], rounds: int) -> None:
    """All are filled, then each has its turn in each round, then each is counted."""
    turns: list[Callable[[], None]] = [
        *(one.fill for one in entrants),
        *(partial(one.measure, number) for number in range(rounds) for one in entrants),
        *(one.count for one in entrants),
    ]
    for turn in turns:
        turn()
        os.sync()


def write_down(work: Path, plan: Plan, queries: int) -> None:
    """What all work on: the seeded catalog and the lessons to add as vectors, and the service's own copy of it."""
    seeded, embedder = seeds.lesson_catalog(plan.lessons), HashingEmbedder()
    shutil.copyfile(seeded.file, work / "lessons.db")
    shutil.copytree(seeded.folder, work / "lessons")
    new = [corpus.lesson(FIRST_NEW + number) for number in range(plan.new_lessons)]
    stored = [*seeds.vectors_of(seeded.file), *anyio.run(EmbedLessons(embedder=embedder), new)]
    questions = anyio.run(embedder.embed, [corpus.question(number) for number in range(queries)])
    Catalog.write(
        work,
        plan,
        np.frombuffer(b"".join(one.data for one in stored), "<f4").reshape(-1, embedder.dimension),
        [number for number, one in enumerate(stored) for _ in range(one.count)],
        np.frombuffer(b"".join(questions), "<f4").reshape(-1, embedder.dimension),
    )


def _own(work: Path) -> Participant:
    return Participant([sys.executable, "-m", "tests.bench.own_worker", str(work)], log=work / "memorygrid.log")


def _entered(stack: ExitStack, name: str, work: Path) -> Participant | None:
    if not _PYTHON.exists():
        return None
    environment = {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False"}
    environment |= {"HOME": str(work), "MEM0_DIR": str(work / "mem0-home"), "OPENAI_API_KEY": "none"}
    command = [str(_PYTHON), "-m", "tests.bench.peer_worker", name, str(work)]
    return stack.enter_context(Participant(command, log=work / f"{name}.log", environment=environment))
