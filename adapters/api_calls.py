"""Calls of a service's API: each by its deadline, tried again where that may help, behind a circuit breaker."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio

from adapters.circuit_breaker import CircuitBreaker
from adapters.retry_policy import RetryPolicy
from domain.errors import Unavailable

#: What a key may be made of, as HTTP headers carry it.
HEADER_SAFE: Final = re.compile(r"[\x21-\x7e]*")

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class ApiError(Exception):
    """A call that came to nothing.

    `detail` is one sentence for the reader of a log, and never holds the key. `retryable`: the same request may fare
    better soon, though not before `retry_after_s` seconds where the API named a time. `outage`: the next request will
    most likely fail too; False where this request alone is at fault.
    """

    def __init__(
        self, detail: str, *, retryable: bool = False, outage: bool = True, retry_after_s: float | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retryable = retryable
        self.outage = outage
        self.retry_after_s = retry_after_s


class ApiCalls:
    """Makes the calls of one service, `what` at the start of a sentence; `error` is what a failed one raises."""

    def __init__(self, what: str, error: type[Unavailable], *, retries: RetryPolicy, circuit: CircuitBreaker) -> None:
        self._what = what
        self._error = error
        self._retries = retries
        self._circuit = circuit

    def problem(self) -> str | None:
        """Why no call may go just now, or None where one may."""
        return self._circuit.problem()

    async def __call__(self, attempt: Callable[[], Awaitable[Result]], *, deadline: float, timeout_s: float) -> Result:
        """What `attempt` answers by the deadline, in the event loop's time; `timeout_s` is for the message.

        An `ApiError` of `attempt` counts for or against the service and is raised as `error`.
        """
        with self._circuit.call() as call:
            try:
                with anyio.fail_after(deadline - anyio.current_time()):
                    result = await self._persistent(attempt)
            except TimeoutError as error:
                detail = f"{self._what} did not answer within {timeout_s:g} s."
                call.failed(detail)
                raise self._error(detail) from error
            except ApiError as error:
                if error.outage:
                    call.failed(error.detail)
                else:
                    call.succeeded()
                raise self._error(error.detail) from error
            call.succeeded()
            return result

    async def _persistent(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """After as many tries as the policy and the time left allow."""
        failures = 0
        while True:
            try:
                return await attempt()
            except ApiError as error:
                failures += 1
                wait_s = self._retries.wait_s(
                    failures=failures,
                    retry_after_s=error.retry_after_s,
                    remaining_s=anyio.current_effective_deadline() - anyio.current_time(),
                )
                if wait_s is None or not error.retryable:
                    raise
                logger.debug("Trying again in %.2f s. %s", wait_s, error.detail)
            await anyio.sleep(wait_s)
