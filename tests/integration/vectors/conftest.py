"""Each shared vector store as fixtures: its address, and as many indices on it as a test opens."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from application.learner.ports import VectorIndex
from tests.integration.vectors.stores import DIMENSION, EMBEDDER, KINDS, Kind
from tests.servers.process import ServerProcess

OpenIndex = Callable[[], Awaitable[VectorIndex]]


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.engine(kind.server.name)) for name, kind in KINDS.items()])
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def server(request: pytest.FixtureRequest, kind: Kind) -> ServerProcess:
    running: ServerProcess = request.getfixturevalue(f"{kind.server.name}_server")
    return running


@pytest.fixture
async def address(kind: Kind, server: ServerProcess) -> str:
    """Of an empty store."""
    dsn = kind.address(server, f"vectors_{secrets.token_hex(6)}")
    index = kind.open(dsn)
    await index.reset(EMBEDDER, DIMENSION)
    await index.aclose()
    return dsn


@pytest.fixture
async def open_index(kind: Kind, address: str) -> AsyncIterator[OpenIndex]:
    """Opens one more index on the same store, as another process does."""
    async with AsyncExitStack() as stack:

        async def opened() -> VectorIndex:
            index = kind.open(address)
            stack.push_async_callback(index.aclose)
            await index.prepare(EMBEDDER, DIMENSION)
            return index

        yield opened
