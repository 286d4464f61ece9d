from __future__ import annotations

from adapters.vectors.milvus_index import portions
from application.learner.ports import StoredVectors
from domain.learner.lesson import Bin

_DIMENSION = 4_096
_SECTIONS = 25


def lesson(number: int) -> StoredVectors:
    data = bytes(4 * _DIMENSION * _SECTIONS)
    return StoredVectors(
        lesson_id=f"l{number}", bin=Bin.SKILLS, embedder="e", dimension=_DIMENSION, count=_SECTIONS, data=data
    )


def test_removals_go_500_at_once() -> None:
    assert [len(some) for some in portions([(f"l{number}", None) for number in range(1_100)])] == [500, 500, 100]


def test_lessons_of_many_long_vectors_go_in_messages_that_any_server_takes() -> None:
    lessons = [(one.lesson_id, one) for one in map(lesson, range(100))]
    found = list(portions(lessons))
    assert [lesson_id for some in found for lesson_id in some] == [lesson_id for lesson_id, _ in lessons]
    assert max(sum(len(one.data) for one in some.values() if one) for some in found) < 16 << 20


def test_of_nothing_there_is_no_portion() -> None:
    assert not list(portions([]))
