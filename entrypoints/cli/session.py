"""What the commands of one run share: where the service is, and how it is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

import anyio
import msgspec
import typer

from domain.errors import InvalidConfiguration, InvalidInput, MemoryGridError, Unavailable
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.escaping import escaped

if TYPE_CHECKING:
    from entrypoints.cli.service import Service

T = TypeVar("T")


class Use(Enum):
    """What a command does with the local stores: only `CHANGES` and `ADDS` write, and only `ADDS` makes a new one.

    `TRIES` is a dry run of `ADDS`: where there is no database, it is as if there were an empty one.
    """

    READS = "reads"
    TRIES = "tries"
    CHANGES = "changes"
    ADDS = "adds"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """`url` None: the local stores that the settings name."""

    url: str | None = None
    api_key: str | None = None

    @classmethod
    def of(cls, context: typer.Context) -> Session:
        return context.ensure_object(cls)

    def ask(self, work: Callable[[Service], Awaitable[T]], use: Use = Use.READS, *, of_feedback: bool = False) -> T:
        """What `work` makes of the service. Raises `Failure`.

        `use` is what it does with the local stores; what is `of_feedback` needs both databases.
        """

        async def asked() -> T:
            async with self._service(use, of_feedback=of_feedback) as service:
                return await work(service)

        return anyio.run(asked)

    def _service(self, use: Use, *, of_feedback: bool) -> AbstractAsyncContextManager[Service]:
        """The service at the address, or over the local stores."""
        if self.url is not None:
            from entrypoints.cli.remote import remote_service  # noqa: PLC0415 - only what is used is loaded

            return remote_service(self.url, self.api_key)
        from entrypoints.cli.local import local_service  # noqa: PLC0415 - loads the whole service

        return local_service(use, of_feedback=of_feedback)

    def stores_only(self, what: str) -> None:
        """Raises `Failure` where an address is given for something that is done on the stores themselves."""
        if self.url is not None:
            message = f"{what} works on the stores themselves: run it where they are, without --url and MG_URL"
            raise Failure(message, ExitCode.USAGE)


#: What stands before each of several variables that are wrong.
_EACH = "\n  - "


def failure_of(error: MemoryGridError) -> Failure:
    """How a command ends with an error of the service itself, met in this process."""
    detail = _EACH.join(map(escaped, error.detail.split(_EACH)))
    if isinstance(error, Unavailable):
        return Failure(detail, ExitCode.UNREACHABLE)
    unusable = isinstance(error, InvalidConfiguration | InvalidInput)
    return Failure(detail, ExitCode.USAGE if unusable else ExitCode.NO)
