"""The head of a request is bounded in bytes and in time; what is no HTTP is refused as everything else is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from entrypoints.http import protocol
from entrypoints.http.protocol import LARGEST_HEAD, BoundedHttp
from tests.unit.http.clients import QUERY, incorporator
from tests.unit.http.stubs import Stub

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connected() -> AsyncIterator[Connection]:
    config = uvicorn.Config(incorporator(Stub()), log_config=None, lifespan="off")
    config.load()
    loop = asyncio.get_running_loop()
    state = ServerState()
    server = await loop.create_server(lambda: BoundedHttp(config, state, {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield reader, writer
    finally:
        writer.close()
        server.close()


async def asked(connection: Connection, *parts: bytes) -> tuple[int, dict[str, str], Any]:
    """Sends the parts; status, headers and JSON of the first answer."""
    reader, writer = connection
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0)
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers["content-length"]))
    return int(head[0].split()[1]), headers, json.loads(body)


def get(*headers: bytes) -> bytes:
    return b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"".join(one + b"\r\n" for one in headers) + b"\r\n"


async def test_requests_are_served_one_after_the_other_on_a_connection() -> None:
    body = json.dumps({**QUERY, "current_task_context": {"x": "x" * 4 * LARGEST_HEAD}}).encode()
    invoke = b"POST /incorporator/invoke HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with connected() as connection:
        for _ in range(3):
            assert (await asked(connection, get()))[0] == 200
            assert (await asked(connection, invoke, body))[0] == 200
            assert (await asked(connection, invoke + body))[0] == 200


@pytest.mark.parametrize(
    "beginning",
    [
        b"GET /health HTTP/1.1\r\nX: " + b"x" * 70_000,
        b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 12_000,
        b"GET /" + b"x" * 70_000,
    ],
    ids=["value", "headers", "path"],
)
async def test_a_head_that_goes_on_and_on_is_431(beginning: bytes) -> None:
    async with connected() as connection:
        status, headers, problem = await asked(connection, beginning)
        assert (status, headers["content-type"]) == (431, "application/problem+json")
        assert problem["type"] == "/problems/headers-too-large"
        assert await connection[0].read() == b""


async def test_what_is_no_http_is_a_problem_too() -> None:
    async with connected() as connection:
        status, headers, problem = await asked(connection, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
        assert (status, headers["content-type"]) == (400, "application/problem+json")
        assert problem["type"] == "/problems/bad-request"


@pytest.mark.parametrize("beginning", [b"", b"GET /health HTTP/1.1\r\nX: y"])
async def test_a_head_that_does_not_come_ends_the_connection(beginning: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.05)
    async with connected() as (reader, writer):
        writer.write(beginning)
        assert await asyncio.wait_for(reader.read(), 5) == b""


async def test_a_slow_answer_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.05)
    async with connected() as connection:
        connection[1].write(get()[:-2])
        await asyncio.sleep(0.01)
        assert (await asked(connection, b"\r\n"))[0] == 200
        await asyncio.sleep(0.1)
        assert (await asked(connection, get()))[0] == 200
