"""What every store of misses keeps to: counts only ever grow, and nothing noted side by side is lost."""

from __future__ import annotations

from datetime import timedelta

from application.feedback.ports import Miss, MissStore
from tests.contract.adapters import Feedback
from tests.fakes.clock import START
from tests.fakes.examples import ODD
from tests.fakes.together import all_of

LATER = START + timedelta(minutes=1, microseconds=1)


def miss(problem_type: str = "flaky_upload", count: int = 1, minutes: int = 0) -> Miss:
    return Miss(problem_type=problem_type, count=count, last_at=START + timedelta(minutes=minutes))


async def test_a_miss_comes_back_as_it_was_stored(misses: MissStore) -> None:
    full = Miss(problem_type=ODD, count=2**40, last_at=LATER)
    await misses.add([full])
    assert list(await misses.most_frequent(10)) == [full]


async def test_counts_add_up_and_the_last_time_is_kept(misses: MissStore) -> None:
    await misses.add([miss(count=2), miss("another", 1)])
    await misses.add([miss(count=3, minutes=1)])
    assert list(await misses.most_frequent(10)) == [miss(count=5, minutes=1), miss("another", 1)]


async def test_nothing_noted_is_nothing_stored(misses: MissStore) -> None:
    await misses.add([])
    assert list(await misses.most_frequent(10)) == []


async def test_the_most_frequent_come_first_and_no_more_than_asked_for(misses: MissStore) -> None:
    await misses.add([miss("a", 1), miss("b", 3), miss("c", 2), miss("d", 3)])
    assert [one.problem_type for one in await misses.most_frequent(3)] == ["b", "d", "c"]


async def test_problem_types_that_look_alike_are_counted_apart(misses: MissStore) -> None:
    alike = ["a", "A", "a ", " a", "á", "a\u0301", "ａ", "ß", "ss", "\U0001f9ea" * 255]
    await misses.add([miss(one) for one in alike])
    await misses.add([miss(one) for one in alike])
    stored = await misses.most_frequent(100)
    assert sorted(one.problem_type for one in stored) == sorted(alike)
    assert {one.count for one in stored} == {2}


async def test_the_problem_types_met_last_are_kept_and_the_others_forgotten(misses: MissStore) -> None:
    await misses.keep(2)
    await misses.add([miss(f"p{number}", count=9 - number, minutes=number) for number in range(5)])
    await misses.keep(5)
    assert len(await misses.most_frequent(10)) == 5
    await misses.add([miss("p0", minutes=9)])
    await misses.keep(2)
    assert [one.problem_type for one in await misses.most_frequent(10)] == ["p0", "p4"]


async def test_counts_added_side_by_side_are_all_there(misses: MissStore) -> None:
    await all_of(*(misses.add([miss(), miss("another", 2)]) for _ in range(20)))
    assert [one.count for one in await misses.most_frequent(10)] == [40, 20]


async def test_counts_added_by_processes_side_by_side_are_all_there(two_feedbacks: tuple[Feedback, Feedback]) -> None:
    first, second = (one.misses for one in two_feedbacks)
    await all_of(*(store.add([miss(), miss("another", 2)]) for store in [first, second] * 5))
    assert [one.count for one in await first.most_frequent(10)] == [20, 10]
    assert list(await second.most_frequent(10)) == list(await first.most_frequent(10))
