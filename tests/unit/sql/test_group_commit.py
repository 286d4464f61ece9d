"""Commands that arrive together share a transaction, and each has its own result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from adapters.sql.database import Database
from adapters.sql.group_commit import GroupCommit
from domain.errors import MemoryGridError, NoSelection, Overloaded, StoreUnavailable
from tests.fakes.together import together

T = TypeVar("T")


class SlowDatabase:
    """Every transaction takes a few turns of the event loop. `away` tells for each coming one whether it fails."""

    name = "the test database"

    def __init__(self) -> None:
        self.away: list[bool] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def transaction(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        assert writes
        await self.gate.wait()
        for _ in range(3):
            await asyncio.sleep(0)
        if self.away and self.away.pop(0):
            raise StoreUnavailable("the test database is away")
        return work(cast("Connection", None))


class Squares:
    """Squares numbers: 13 spoils its whole batch, -1 concerns itself alone, 7 loses one race."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self._lost = False

    def __call__(self, _: Connection, numbers: Sequence[int]) -> Sequence[int | MemoryGridError]:
        self.batches.append(list(numbers))
        if 13 in numbers:
            raise ValueError("13")
        if 7 in numbers and len(numbers) == 1 and not self._lost:
            self._lost = True
            raise IntegrityError("INSERT", None, Exception("somebody was faster"))
        if 7 in numbers and len(numbers) > 1:
            raise IntegrityError("INSERT", None, Exception("somebody was faster"))
        return [NoSelection("-1") if number == -1 else number * number for number in numbers]


@pytest.fixture
async def database() -> SlowDatabase:
    return SlowDatabase()


def group(database: SlowDatabase, squares: Squares) -> GroupCommit[int, int]:
    return GroupCommit(cast("Database", database), squares)


async def test_what_arrives_during_a_transaction_makes_up_the_next_one(database: SlowDatabase) -> None:
    squares = Squares()
    commit = group(database, squares)
    first = asyncio.create_task(commit.submit(2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    others = [asyncio.create_task(commit.submit(number)) for number in (3, 4, 5)]
    assert await asyncio.gather(first, *others) == [4, 9, 16, 25]
    assert squares.batches == [[2], [3, 4, 5]]


async def test_a_batch_has_a_limit(database: SlowDatabase) -> None:
    squares = Squares()
    numbers = list(range(1000, 1300))
    assert await together(*map(group(database, squares).submit, numbers)) == [number**2 for number in numbers]
    assert [len(batch) for batch in squares.batches] == [128, 128, 44]


async def test_an_error_of_one_command_is_its_own(database: SlowDatabase) -> None:
    squares = Squares()
    first, bad, last = await together(*map(group(database, squares).submit, (2, -1, 3)))
    assert (first, last) == (4, 9)
    assert isinstance(bad, NoSelection)
    assert len(squares.batches) == 1


async def test_a_command_that_spoils_its_batch_fails_alone(database: SlowDatabase) -> None:
    results = await together(*map(group(database, Squares()).submit, (2, 13, 3)))
    assert [isinstance(one, ValueError) for one in results] == [False, True, False]
    assert (results[0], results[2]) == (4, 9)


async def test_a_command_that_lost_a_race_is_tried_once_more(database: SlowDatabase) -> None:
    assert await together(*map(group(database, Squares()).submit, (2, 7))) == [4, 49]


async def test_who_waits_for_a_database_that_is_away_is_told_with_the_others(database: SlowDatabase) -> None:
    squares = Squares()
    commit = group(database, squares)
    database.away = [True]
    database.gate.clear()
    calls = [asyncio.create_task(commit.submit(number)) for number in range(1000, 1200)]
    await asyncio.sleep(0.01)
    database.gate.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert {str(one) for one in results} == {"the test database is away"}
    assert len({id(one) for one in results}) == len(results)
    assert squares.batches == []
    assert await commit.submit(2) == 4


async def test_a_database_that_goes_away_while_commands_run_one_by_one_is_told_to_the_rest(
    database: SlowDatabase,
) -> None:
    squares = Squares()
    database.away = [False, False, True]
    results = await together(*map(group(database, squares).submit, (2, 13, 3, 4)))
    assert [type(one) for one in results] == [int, StoreUnavailable, StoreUnavailable, StoreUnavailable]
    assert squares.batches == [[2, 13, 3, 4], [2]]


async def test_a_queue_that_is_full_is_told_at_once(database: SlowDatabase) -> None:
    commit = group(database, Squares())
    database.gate.clear()
    calls = [asyncio.create_task(commit.submit(1000)) for _ in range(5000)]
    await asyncio.sleep(0.01)
    refused = [one for one in calls if one.done()]
    assert all(isinstance(one.exception(), Overloaded) for one in refused)
    database.gate.set()
    results: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
    assert results.count(1_000_000) == 5000 - len(refused)
    assert 0 < len(refused) <= 904


async def test_a_caller_that_gives_up_takes_nobody_with_it(database: SlowDatabase) -> None:
    squares = Squares()
    commit = group(database, squares)
    calls = [asyncio.create_task(commit.submit(number)) for number in (2, 3, 4)]
    await asyncio.sleep(0)
    calls[1].cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert (results[0], results[2]) == (4, 16)
    assert isinstance(results[1], asyncio.CancelledError)


async def test_a_worker_that_is_cancelled_leaves_nobody_waiting(database: SlowDatabase) -> None:
    commit = group(database, Squares())
    database.gate.clear()
    calls = [asyncio.create_task(commit.submit(number)) for number in range(1000, 1200)]
    await asyncio.sleep(0.01)
    worker = next(task for task in asyncio.all_tasks() if "GroupCommit._work" in repr(task))
    worker.cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(one) for one in results} == {StoreUnavailable}
