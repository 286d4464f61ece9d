"""The event loop of tests, which is not told of what gRPC's calls of earlier loops came to."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any, Final

_GRPC: Final = "completion_queue"


class EventLoop(asyncio.SelectorEventLoop):
    """One thread of gRPC listens for all loops of a process, and whichever loop is there hands each event on.

    So a call that was given up in one test may end in another, when the loop of the first is closed: no fault of the
    second, and nobody waits for it.
    """

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not _is_late(context.get("exception")):
            super().call_exception_handler(context)


def _is_late(error: object) -> bool:
    return (
        isinstance(error, RuntimeError)
        and str(error) == "Event loop is closed"
        and any(_GRPC in frame.filename for frame in traceback.extract_tb(error.__traceback__))
    )
