from __future__ import annotations

from adapters.vectors.cosines import Lesson
from adapters.vectors.vector_tiers import VectorTiers
from tests.unit.vectors.unit_vectors import DIMENSION, best, vectors


def made(number: int) -> list[Lesson]:
    return [Lesson(f"{at:04}", at % 2, vectors(2, at)) for at in range(number)]


def test_a_growing_catalog_answers_the_same_before_during_and_after_coding() -> None:
    tiers, lessons, query = VectorTiers(DIMENSION, exact_bytes=4 * DIMENSION * 1_000), made(1_200), vectors(1, 9)[0]
    for start in range(0, len(lessons), 60):
        tiers.put(lessons[start : start + 60])
        so_far = lessons[: start + 60]
        assert (len(tiers), tiers.rows) == (len(so_far), 2 * len(so_far))
        found = tiers.nearest(query, 10, 1)
        assert [lesson_id for lesson_id, _ in found] == best(query, so_far, 10, 1)
    assert set(tiers.cosines(query, [lesson.id for lesson in lessons])) == {lesson.id for lesson in lessons}


def test_a_lesson_is_in_one_tier_only() -> None:
    tiers, query = VectorTiers(DIMENSION, exact_bytes=4 * DIMENSION * 100), vectors(1, 9)[0]
    tiers.put(made(60))
    tiers.put([Lesson("0059", 0, vectors(2, 500))])
    assert len(tiers) == 60
    assert len(tiers.nearest(query, 100, None)) == 60
    tiers.remove(["0001", "0059", "unknown"])
    assert len(tiers) == 58
    assert {"0001", "0059"}.isdisjoint(lesson_id for lesson_id, _ in tiers.nearest(query, 100, None))


def test_what_is_found_depends_on_the_lessons_and_not_on_when_they_came() -> None:
    lessons, query, exact_bytes = made(700), vectors(1, 9)[0], 4 * DIMENSION * 1_000
    orders = [lessons, lessons[::-1], lessons[350:] + lessons[:350]]
    found = []
    for order, at_once in zip(orders, (1, 60, 700), strict=True):
        tiers = VectorTiers(DIMENSION, exact_bytes)
        for start in range(0, len(order), at_once):
            tiers.put(order[start : start + at_once])
        found.append((tiers.search_work, tiers.nearest(query, 700, None)))
    assert found[0] == found[1] == found[2]


def test_the_work_of_coding_everything_is_told_before_it_is_done() -> None:
    tiers = VectorTiers(DIMENSION, exact_bytes=4 * DIMENSION * 1_000)
    tiers.put(made(500))
    assert tiers.put_work(2) > 100 * tiers.search_work
    tiers.put([Lesson("one more", 0, vectors(2, 500))])
    assert tiers.put_work(2) < tiers.search_work
