"""A service that cannot start says why in one sentence; a traceback is for what nobody foresaw."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from domain.errors import StoreUnavailable
from tests.unit.http.clients import incorporator
from tests.unit.http.stubs import Stub


async def started(failure: Exception | None) -> dict[str, Any]:
    """What a server is told when it starts a service whose start fails like this, or does not."""

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with anyio.create_task_group():
            if failure is not None:
                raise failure
        yield

    told: list[dict[str, Any]] = []
    events = iter(({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}))

    async def receive() -> dict[str, str]:
        return next(events)

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    app = incorporator(Stub(), lifespan=[lifespan])
    if failure is None:
        await app({"type": "lifespan"}, receive, send)
    else:
        with pytest.raises(Exception, match=r"unhandled errors in a TaskGroup|away"):
            await app({"type": "lifespan"}, receive, send)
    return told[0]


async def test_a_known_reason_is_one_sentence() -> None:
    message = await started(StoreUnavailable("the object store is away: try again shortly"))
    assert message == {
        "type": "lifespan.startup.failed",
        "message": "The service cannot start: the object store is away: try again shortly.",
    }


async def test_an_unknown_reason_keeps_its_traceback() -> None:
    message = await started(RuntimeError("away"))
    assert message["type"] == "lifespan.startup.failed"
    assert "Traceback" in message["message"]


async def test_a_start_that_succeeds_says_nothing_more() -> None:
    assert await started(None) == {"type": "lifespan.startup.complete"}
