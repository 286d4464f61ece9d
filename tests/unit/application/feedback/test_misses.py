"""Counting what found no match, off the request's path."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from application.feedback.misses import CountMisses
from application.feedback.ports import Miss
from domain.errors import StoreUnavailable
from tests.fakes.clock import START, FakeClock
from tests.fakes.fake_misses import FakeMissStore


def counter(store: FakeMissStore, clock: FakeClock | None = None) -> CountMisses:
    return CountMisses(store=store, clock=clock or FakeClock())


async def test_misses_are_stored_with_their_count_and_the_last_time() -> None:
    store, clock = FakeMissStore(), FakeClock()
    misses = counter(store, clock)
    misses.note("a")
    misses.note("b")
    last = clock.advance(60)
    misses.note("a")
    assert list(await store.most_frequent(10)) == []
    await misses.write()
    assert list(await store.most_frequent(10)) == [
        Miss(problem_type="a", count=2, last_at=last),
        Miss(problem_type="b", count=1, last_at=START),
    ]


async def test_what_was_stored_is_not_stored_again() -> None:
    store = FakeMissStore()
    misses = counter(store)
    misses.note("a")
    await misses.write()
    await misses.write()
    misses.note("a")
    await misses.write()
    assert [one.count for one in await store.most_frequent(10)] == [2]
    assert store.calls["add"] == 2


class Busy(FakeMissStore):
    """Others miss while it is writing."""

    def __init__(self) -> None:
        super().__init__()
        self.misses: CountMisses | None = None

    async def add(self, misses: Sequence[Miss]) -> None:
        if self.misses is not None:
            for problem_type in ("a", "c"):
                self.misses.note(problem_type)
            self.misses = None
        await super().add(misses)


@pytest.mark.parametrize("fails", [True, False])
async def test_what_is_noted_during_a_write_is_not_lost_whether_that_fails_or_not(fails: bool) -> None:
    store = Busy()
    store.misses = misses = counter(store)
    for problem_type in ("a", "b"):
        misses.note(problem_type)
    store.fails_next = int(fails)
    if fails:
        with pytest.raises(StoreUnavailable):
            await misses.write()
        assert list(await store.most_frequent(10)) == []
    else:
        await misses.write()
    await misses.write()
    assert {one.problem_type: one.count for one in await store.most_frequent(10)} == {"a": 2, "b": 1, "c": 1}


async def test_memory_stays_bounded_while_the_store_is_away() -> None:
    store = FakeMissStore()
    misses = counter(store)
    for n in range(10_500):
        misses.note(f"problem {n}")
        misses.note("problem 0")
    await misses.write()
    stored = await store.most_frequent(20_000)
    assert len(stored) == 10_000
    assert (stored[0].problem_type, stored[0].count) == ("problem 0", 10_501)


async def test_they_are_written_at_every_interval_and_a_store_that_is_away_is_tried_again() -> None:
    store = FakeMissStore()
    misses = counter(store)
    async with anyio.create_task_group() as group:
        group.start_soon(misses.run)
        misses.note("a")
        await anyio.sleep(0.6)
        assert [one.count for one in await store.most_frequent(10)] == [1]
        store.away = True
        misses.note("a")
        await anyio.sleep(2)
        store.away = False
        await anyio.sleep(0.6)
        assert [one.count for one in await store.most_frequent(10)] == [2]
        group.cancel_scope.cancel()


class Faulty(FakeMissStore):
    async def add(self, misses: Sequence[Miss]) -> None:
        if self.calls.get("add", 0) == 0:
            await self.reached("add")
            raise ValueError("a bug")
        await super().add(misses)


async def test_no_fault_ends_the_writing() -> None:
    store = Faulty()
    misses = counter(store)
    async with anyio.create_task_group() as group:
        group.start_soon(misses.run)
        misses.note("a")
        await anyio.sleep(0.6)
        misses.note("b")
        await anyio.sleep(0.6)
        group.cancel_scope.cancel()
    assert [one.problem_type for one in await store.most_frequent(10)] == ["b"]
