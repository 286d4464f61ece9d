"""How the processes of the comparison talk, and what all of them work on.

One line of JSON goes in for each that comes out. The first line, unasked, is `Ready`: all vectors of the catalog are
there, and the process waits. This module runs in the peers' virtual environment too, so that it needs msgspec and NumPy
alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tests.bench.recall import Vectors, recall
from tests.bench.timing import Stage, Times


class Job(str, Enum):
    """What is timed. `VECTORS` and `LESSONS` are searches; a floor is what the disk takes by itself."""

    VECTORS = "vectors"
    LESSONS = "lessons"
    ADD_VECTOR = "add_vector"
    ADD_LESSON = "add_lesson"
    PROMOTION = "promotion"
    BARE_TRANSACTION = "bare_transaction"
    BARE_FLUSH = "bare_flush"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How much of everything: `lessons` are in the catalog, and `additions` are timed for each job in each of `rounds`.

    Before these come `warm_ups`, since the processor's caches are another one's when a turn begins. Lessons to add have
    the numbers after the catalog's; those of round number `rounds` are counted and not timed.
    """

    lessons: int
    top: int
    rounds: int
    warm_ups: int
    additions: int

    @property
    def new_lessons(self) -> int:
        return self.first(self.rounds + 1).start - self.lessons

    def first(self, number: int) -> range:
        """The lessons of a round's first additions: one vector of each by a peer, the whole lesson by the service."""
        added = self.warm_ups + self.additions
        begin = self.lessons + 2 * added * number
        return range(begin, begin + added)

    def second(self, number: int) -> range:
        """The lessons of a round's second additions: the whole lesson by a peer, a promotion by the service."""
        first = self.first(number)
        return range(first.stop, first.stop + len(first))


class Round(msgspec.Struct, frozen=True, tag=True):
    """Each job's share of this round; the first is number 0."""

    number: int


class Add(msgspec.Struct, frozen=True, tag=True):
    """The additions of one job that are counted and not timed, once."""

    job: Job


Request = Round | Add


class Ready(msgspec.Struct, frozen=True):
    name: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A round. `recall` is against the exact answer over the vectors that were there; `parts` are our addition's.

    `asked` is for how many vectors a peer was asked at most to find enough lessons, `among` of how many lessons the
    nearest vectors were on average.
    """

    times: Mapping[Job, Times]
    recall: Mapping[Job, float]
    parts: Sequence[Stage] = ()
    asked: int | None = None
    among: float | None = None


class Added(msgspec.Struct, frozen=True):
    additions: int


class Link:
    """A worker's side. What anything else prints goes to standard error from now on."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)

    def receive(self) -> Request | None:
        """The next request, waited for; None where no more come."""
        line = sys.stdin.buffer.readline()
        return msgspec.json.decode(line, type=Request) if line else None

    def send(self, answer: Ready | Measured | Added) -> None:
        self._answers.write(msgspec.json.encode(answer) + b"\n")


class Catalog:
    """The files in a folder that all participants work on, and which of its vectors this one has.

    A lesson's vectors stand together. Vectors and lessons go by names: `lesson/place` and `lesson`, each a number.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan = msgspec.json.decode((folder / "plan.json").read_bytes(), type=Plan)
        self.vectors: Vectors = np.load(folder / "vectors.npy")
        self.queries: Vectors = np.load(folder / "queries.npy")
        self._owners: NDArray[np.int64] = np.load(folder / "owners.npy")
        self._present = np.zeros(len(self._owners), bool)

    @staticmethod
    def write(folder: Path, plan: Plan, vectors: Vectors, owners: Sequence[int], queries: Vectors) -> None:
        """Puts down the files: vectors one a row, the number of the lesson of each in order, and the questions'."""
        (folder / "plan.json").write_bytes(msgspec.json.encode(plan))
        np.save(folder / "vectors.npy", vectors)
        np.save(folder / "owners.npy", np.array(owners, np.int64))
        np.save(folder / "queries.npy", queries)

    @cached_property
    def names(self) -> Sequence[str]:
        """Of the vectors."""
        return [f"{owner}/{at}" for at, owner in enumerate(self._owners.tolist())]

    def rows(self, lesson: int) -> slice:
        """Where the vectors of the lesson of this number are; the rows end where they would begin if there are none."""
        return slice(*np.searchsorted(self._owners, (lesson, lesson + 1)).tolist())

    def has(self, rows: slice) -> None:
        """These vectors are there from now on."""
        self._present[rows] = True

    def recall(self, job: Job, found: Sequence[Sequence[str]]) -> float:
        """The share of the exact answers to the queries, among the vectors that are there, that was found."""
        rows = np.flatnonzero(self._present)
        names = [self.names[at] for at in rows.tolist()]
        owners = names if job is Job.VECTORS else [*map(lesson_of, names)]
        return recall(self.vectors[rows], owners, [*self.queries], found, self.plan.top)


def lesson_of(vector: str) -> str:
    """The name of the lesson of the vector of this name."""
    return vector.partition("/")[0]
