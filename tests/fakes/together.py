"""Calls made side by side, each with its own result."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def together(*calls: Awaitable[T]) -> list[T | Exception]:
    """What each call answered or raised, in order."""
    results: list[T | Exception] = [RuntimeError("not finished")] * len(calls)

    async def carry_out(at: int, call: Awaitable[T]) -> None:
        try:
            results[at] = await call
        except Exception as error:
            results[at] = error

    async with anyio.create_task_group() as group:
        for at, call in enumerate(calls):
            group.start_soon(carry_out, at, call)
    return results


async def all_of(*calls: Awaitable[T]) -> list[T]:
    """What each call answered, in order; the first error is raised when all are done."""
    answers: list[T] = []
    for result in await together(*calls):
        if isinstance(result, Exception):
            raise result
        answers.append(result)
    return answers
