"""The service with its stages timed, as a server of its own: where an invoke's time goes when a model chooses.

The methods of the service's objects are wrapped while it starts; one request at a time is asked for, so that what is
called while it is answered is a part of it. When the server ends, the seconds of each request go to the file that
`BENCH_STAGES` names.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from litestar.types import ASGIApp, Receive, Scope, Send

from entrypoints.apps import incorporator_app
from entrypoints.container import IncorporatorContainer
from entrypoints.settings import Settings
from tests.bench.rounds import INVOKE

EMBED = "embedding the question"
NEAREST = "the nearest vectors"
LEXICAL = "the words' scores"
COPIES = "reading copies from the database"
SEARCH = "the rest of the search"
ASK = "asking the model through the SDK"
RECORD = "recording"
REST = "the rest of the application"
EXCHANGE = "the HTTP exchange"
WITHIN = "the application"
"""All but the exchange: from when the request has reached the application until it is answered."""

_SEARCHED = (EMBED, NEAREST, LEXICAL, COPIES)


class Staged:
    """The app of a container, which adds the seconds of each stage up for each request."""

    def __init__(self, container: IncorporatorContainer, file: Path) -> None:
        self._file = file
        self._now: dict[str, float] = {}
        self._requests: list[dict[str, float]] = []
        learner = container.learner
        self._watch(learner.embedder(), "embed", EMBED)
        self._watch(learner.vectors(), "nearest", NEAREST)
        self._watch(learner.texts(), "lexical", LEXICAL)
        self._watch(learner.store(), "copies", COPIES)
        self._watch(learner.search(), "most_similar", SEARCH)
        self._watch(container.llm(), "ask", ASK)
        self._watch(container.store(), "record", RECORD)
        self._app: ASGIApp = incorporator_app(container)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The framework's types of an application know requests only, and not the server's whole life."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            self._file.write_bytes(msgspec.json.encode(self._requests))
        elif scope["path"] == INVOKE:
            await self._invoke(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _invoke(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._now = now = dict.fromkeys((*_SEARCHED, SEARCH, ASK, RECORD), 0.0)
        began = time.perf_counter()
        await self._app(scope, receive, send)
        within = time.perf_counter() - began
        now[SEARCH] -= sum(now[part] for part in _SEARCHED)
        now[REST] = within - sum(now.values())
        now[WITHIN] = within
        self._requests.append(now)

    def _watch(self, target: object, name: str, stage: str) -> None:
        call: Callable[..., Awaitable[object]] = getattr(target, name)

        async def watched(*positional: object, **named: object) -> object:
            began = time.perf_counter()
            try:
                return await call(*positional, **named)
            finally:
                self._now[stage] = self._now.get(stage, 0.0) + (time.perf_counter() - began)

        setattr(target, name, watched)


def app() -> Staged:
    """Made anew by the server that runs it."""
    return Staged(IncorporatorContainer(settings=Settings()), Path(os.environ["BENCH_STAGES"]))
