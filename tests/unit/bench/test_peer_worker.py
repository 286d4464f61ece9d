"""What a peer is asked to do for the service's job, over a store that compares all vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.bench.peer_protocol import Add, Added, Catalog, Job, Measured, Plan, Round
from tests.bench.peer_worker import Lessons, Peer, Worker
from tests.bench.recall import Vectors

TOP = 3


class Exact(Peer):
    """Holds all vectors in memory, and what it was called with; it leaves out the first `missed` it would find."""

    def __init__(self, missed: int = 0) -> None:
        self.added: list[Sequence[str]] = []
        self.asked: list[int] = []
        self._missed = missed
        self._vectors: dict[str, Vectors] = {}

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        self.added.append(ids)
        self._vectors.update(zip(ids, vectors, strict=True))

    def search(self, vector: Vectors, top: int) -> Sequence[str]:
        self.asked.append(top)
        nearest = sorted(self._vectors, key=lambda one: -float(self._vectors[one] @ vector))
        return nearest[self._missed : self._missed + top]


def catalog_of(
    folder: Path, owners: Sequence[int], lessons: int, *, rounds: int = 0, warm_ups: int = 0, additions: int = 0
) -> Catalog:
    """Vectors that lie the farther from the first axis, which is the question, the later they come."""
    angles = np.linspace(0, 1, len(owners), dtype=np.float32)
    plan = Plan(lessons=lessons, top=TOP, rounds=rounds, warm_ups=warm_ups, additions=additions)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    Catalog.write(folder, plan, vectors, owners, np.array([[1, 0]], np.float32))
    return Catalog(folder)


def test_all_vectors_of_a_lesson_are_added_in_one_call(tmp_path: Path) -> None:
    peer, catalog = Exact(), catalog_of(tmp_path, [0, 0, 1, 2, 2, 2], lessons=1)
    lessons = Lessons(peer, catalog)
    lessons.fill()

    lessons.add_lesson(1)
    lessons.add_lesson(2)
    lessons.add_vector(2)

    assert peer.added == [["0/0", "0/1"], ["1/2"], ["2/3", "2/4", "2/5"], ["2/3"]]


def test_more_vectors_are_asked_for_until_there_are_enough_lessons(tmp_path: Path) -> None:
    peer, catalog = Exact(), catalog_of(tmp_path, [0] * 6 + [1, 2, 3], lessons=4)
    lessons = Lessons(peer, catalog)
    lessons.fill()

    found = lessons.nearest_lessons(catalog.queries[0])

    assert found[:TOP] == ["0", "1", "2"]
    assert peer.asked == [6, 12]
    assert lessons.asked == 12


def test_it_is_an_error_where_there_are_too_few_lessons(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, [0] * 6 + [1, 2], lessons=2)
    lessons = Lessons(Exact(), catalog)
    lessons.fill()

    with pytest.raises(RuntimeError, match="finds 2 of 3 lessons"):
        lessons.nearest_lessons(catalog.queries[0])


def worker_of(folder: Path, peer: Peer) -> Worker:
    """Four lessons in the catalog and one addition of each kind in each of two rounds, with two vectors a lesson."""
    catalog = catalog_of(folder, [lesson for lesson in range(10) for _ in "ab"], lessons=4, rounds=2, additions=1)
    lessons = Lessons(peer, catalog)
    lessons.fill()
    return Worker(lessons, catalog)


def test_each_round_adds_lessons_that_nobody_has(tmp_path: Path) -> None:
    peer = Exact()
    worker = worker_of(tmp_path, peer)

    answers = [worker.answer(one) for one in (Round(0), Round(1), Add(Job.ADD_VECTOR), Add(Job.ADD_LESSON))]

    vector_and_lesson = [["4/8"], ["5/10", "5/11"], ["6/12"], ["7/14", "7/15"]]
    counted = [["8/16"], ["9/18", "9/19"]]
    assert peer.added[1:] == [*vector_and_lesson, *counted]
    assert answers[2:] == [Added(1), Added(1)]


def test_a_round_times_each_job_and_counts_of_how_many_lessons_the_nearest_vectors_are(tmp_path: Path) -> None:
    measured = worker_of(tmp_path, Exact()).answer(Round(0))

    assert isinstance(measured, Measured)
    assert {job: one.times for job, one in measured.times.items()} == {
        Job.VECTORS: 1,
        Job.LESSONS: 1,
        Job.ADD_VECTOR: 1,
        Job.ADD_LESSON: 1,
    }
    assert (measured.among, measured.asked) == (2.0, 6)


@pytest.mark.parametrize(
    ("missed", "recall"),
    [
        pytest.param(0, {Job.VECTORS: 1.0, Job.LESSONS: 1.0}, id="all is found"),
        pytest.param(2, {Job.VECTORS: 0.3333, Job.LESSONS: 0.6667}, id="one lesson, and its two vectors, are missed"),
    ],
)
def test_recall_is_against_the_vectors_and_lessons_that_are_there(
    tmp_path: Path, missed: int, recall: dict[Job, float]
) -> None:
    measured = worker_of(tmp_path, Exact(missed)).answer(Round(0))

    assert isinstance(measured, Measured)
    assert measured.recall == recall


def test_the_first_additions_of_each_job_are_made_and_not_timed(tmp_path: Path) -> None:
    owners = list(range(10))
    catalog = catalog_of(tmp_path, owners, lessons=4, warm_ups=2, additions=1)
    peer = Exact()
    lessons = Lessons(peer, catalog)
    lessons.fill()

    measured = Worker(lessons, catalog).answer(Round(0))

    assert isinstance(measured, Measured)
    assert [measured.times[job].times for job in (Job.ADD_VECTOR, Job.ADD_LESSON)] == [1, 1]
    assert peer.added[1:] == [[f"{one}/{one}"] for one in range(4, 10)]
    assert catalog.plan.new_lessons == len(owners) - 4
