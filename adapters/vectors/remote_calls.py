"""Calls to a vector store over the network: each with a deadline, behind a circuit breaker, with one kind of error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

import anyio

from adapters.circuit_breaker import CircuitBreaker
from domain.errors import MemoryGridError, VectorsUnavailable

Result = TypeVar("Result")

_THRESHOLD: Final = 3
_OPEN_S: Final = 1.0
"""Short, so that searches are answered within seconds of the store's return."""


class Failure(NamedTuple):
    """What went wrong, in one sentence without a secret. `alive`: the store is there, but refused this call."""

    detail: str
    alive: bool


class RemoteCalls:
    """After three failures in a row calls fail at once; every second one call finds out whether the store is back.

    `explain` turns a driver's error into a `Failure`; an error that it does not know (None) is raised as it is.
    """

    def __init__(self, what: str, explain: Callable[[Exception], Failure | None]) -> None:
        self._what = what
        self._explain = explain
        self._circuit = CircuitBreaker(what, VectorsUnavailable, threshold=_THRESHOLD, open_s=_OPEN_S)

    async def __call__(self, within_s: float, work: Callable[[], Awaitable[Result]]) -> Result:
        """The result of `work`. Raises `VectorsUnavailable`, and our other errors as `work` raises them."""
        with self._circuit.call() as call:
            try:
                with anyio.fail_after(within_s):
                    result = await work()
            except MemoryGridError:
                call.succeeded()
                raise
            except TimeoutError as error:
                detail = f"{self._what} did not answer within {within_s:g} s."
                call.failed(detail)
                raise VectorsUnavailable(detail) from error
            except Exception as error:
                failure = self._explain(error)
                if failure is None:
                    raise
                if failure.alive:
                    call.succeeded()
                else:
                    call.failed(failure.detail)
                raise VectorsUnavailable(failure.detail) from error
            call.succeeded()
            return result
