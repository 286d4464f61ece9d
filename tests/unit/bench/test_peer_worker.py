"""What a peer is asked to do for the service's job, over a store that compares all vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.bench.peer_worker import Lessons, Peer, Vectors

TOP = 3


class Exact(Peer):
    """Holds all vectors in memory, and what it was called with."""

    def __init__(self) -> None:
        self.added: list[Sequence[str]] = []
        self.asked: list[int] = []
        self._vectors: dict[str, Vectors] = {}

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        self.added.append(ids)
        self._vectors.update(zip(ids, vectors, strict=True))

    def search(self, vector: Vectors, top: int) -> Sequence[str]:
        self.asked.append(top)
        return sorted(self._vectors, key=lambda one: -float(self._vectors[one] @ vector))[:top]


def lessons_of(folder: Path, owners: Sequence[int]) -> tuple[Exact, Lessons]:
    """A catalog whose vectors lie the farther from the first axis the later they come."""
    angles = np.linspace(0, 1, len(owners), dtype=np.float32)
    np.save(folder / "vectors.npy", np.stack([np.cos(angles), np.sin(angles)], axis=1))
    np.save(folder / "owners.npy", np.array(owners))
    peer = Exact()
    return peer, Lessons(peer, folder)


FIRST_AXIS = np.array([1, 0], np.float32)


def test_all_vectors_of_a_lesson_are_added_in_one_call(tmp_path: Path) -> None:
    peer, lessons = lessons_of(tmp_path, [0, 0, 1, 2, 2, 2])
    lessons.fill(1)

    lessons.add_lesson(1)
    lessons.add_lesson(2)
    lessons.add_vector(2)

    assert peer.added == [["0/0", "0/1"], ["1/2"], ["2/3", "2/4", "2/5"], ["2/3"]]


def test_more_vectors_are_asked_for_until_there_are_enough_lessons(tmp_path: Path) -> None:
    peer, lessons = lessons_of(tmp_path, [0] * 6 + [1, 2, 3])
    lessons.fill(3)
    lessons.add_lesson(3)

    lessons.nearest_lessons(FIRST_AXIS, TOP)

    assert peer.asked == [6, 12]
    assert lessons.asked == 12


def test_it_is_an_error_where_there_are_too_few_lessons(tmp_path: Path) -> None:
    _, lessons = lessons_of(tmp_path, [0] * 6 + [1, 2])
    lessons.fill(2)

    with pytest.raises(RuntimeError, match="finds 2 of 3 lessons"):
        lessons.nearest_lessons(FIRST_AXIS, TOP)


def test_how_many_lessons_the_nearest_vectors_are_of_is_counted(tmp_path: Path) -> None:
    _, lessons = lessons_of(tmp_path, [0, 0, 1, 2])
    lessons.fill(2)

    lessons.nearest_vectors(FIRST_AXIS, TOP)

    assert lessons.among == [2]
