"""What a server's log says where the service cannot start: one sentence where the reason is known."""

from __future__ import annotations

import sys

from litestar.types import LifeSpanSend, LifeSpanSendMessage

from domain.errors import MemoryGridError


def plainly(send: LifeSpanSend) -> LifeSpanSend:
    """Tells the server why a start has failed, without the traceback that the framework would send.

    A fault that is not one of ours keeps its traceback.
    """

    async def told(message: LifeSpanSendMessage) -> None:
        if message["type"] == "lifespan.startup.failed" and (fault := _known(sys.exc_info()[1])) is not None:
            message["message"] = f"The service cannot start: {fault.detail.rstrip('.')}."
        await send(message)

    return told


def _known(error: BaseException | None) -> MemoryGridError | None:
    """The one fault of ours that a group of exceptions comes down to."""
    while error is not None and not isinstance(error, MemoryGridError):
        inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
        error = inner[0] if len(inner) == 1 else None
    return error
