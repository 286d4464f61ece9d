"""The load generator: keep-alive connections that each send the next request once the last one is answered.

Run as `python -m tests.bench.load` it reads a `Job` from standard input and writes a `Load` to standard output. It does
as little as it can for each answer (about 15 µs), so that the server and not the generator is what is measured; how
busy it was is part of the result.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from typing import cast

import msgspec
import uvloop

from tests.bench.processes import cpu_seconds

_DRAIN_S = 30.0


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """`bodies` are sent one after the other by all connections together, beginning anew at the end.

    Without `body` placeholders: a body may hold `@@`, which becomes a number that no other request of the job has.
    """

    port: int
    path: str
    bodies: Sequence[str]
    connections: int
    seconds: float
    warm_up_s: float = 0.3
    server_pid: int


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """One round. Times in milliseconds; `cpu_us` is the server's processor time a request, in microseconds.

    `generator_busy` is the share of the time in which the generator's core worked: near 1 it would be the limit.
    """

    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    generator_busy: float
    failures: int


class _Window:
    """What is counted: the answers between `begin` and `end`."""

    def __init__(self) -> None:
        self.open = False
        self.over = False
        self.latencies: list[float] = []
        self.failures = 0

    def count(self, latency: float, is_success: bool) -> None:
        if self.open:
            self.latencies.append(latency)
            self.failures += not is_success


class _Connection(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], window: _Window) -> None:
        self._requests = requests
        self._window = window
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._sent = 0.0
        self.idle = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer = buffer = self._buffer + data if self._buffer else data
        if not is_whole(buffer):
            return
        self._buffer = b""
        self._window.count(time.perf_counter() - self._sent, buffer.startswith(b"HTTP/1.1 2"))
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.idle.done():
            self._window.failures += 1
            self.idle.set_result(None)

    def _send(self) -> None:
        if self._window.over:
            self.idle.set_result(None)
            return
        assert self._transport is not None
        self._sent = time.perf_counter()
        self._transport.write(next(self._requests))

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()


def is_whole(answer: bytes) -> bool:
    """Whether what has come in is an answer with as many bytes of a body as its head announces."""
    head = answer.find(b"\r\n\r\n")
    if head < 0:
        return False
    at = answer.find(b"content-length: ", 0, head)
    return len(answer) >= head + 4 + (int(answer[at + 16 : answer.find(b"\r\n", at)]) if at >= 0 else 0)


def request(path: str, body: str, number: int) -> bytes:
    """A POST; `@@` in the body becomes the number."""
    content = body.replace("@@", str(number)).encode()
    return (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    ).encode() + content


def _requests(job: Job) -> Iterator[bytes]:
    for number, body in enumerate(itertools.cycle(job.bodies)):
        yield request(job.path, body, number)


async def run(job: Job) -> Load:
    """One round."""
    loop, window, requests = asyncio.get_running_loop(), _Window(), _requests(job)
    connections = [
        (await loop.create_connection(lambda: _Connection(requests, window), "127.0.0.1", job.port))[1]
        for _ in range(job.connections)
    ]
    await asyncio.sleep(job.warm_up_s)
    window.open = True
    server, own, began = cpu_seconds(job.server_pid), time.process_time(), time.perf_counter()
    await asyncio.sleep(job.seconds)
    window.open = False
    server, own = cpu_seconds(job.server_pid) - server, time.process_time() - own
    took, window.over = time.perf_counter() - began, True
    await asyncio.wait_for(asyncio.gather(*(one.idle for one in connections)), _DRAIN_S)
    for one in connections:
        one.close()
    return _load(window, took, server, own)


def _load(window: _Window, took: float, server: float, own: float) -> Load:
    found = sorted(window.latencies)
    if not found:
        raise RuntimeError("no answer came within the round")
    return Load(
        requests=len(found),
        per_second=round(len(found) / took, 1),
        p50_ms=round(1e3 * found[len(found) // 2], 3),
        p99_ms=round(1e3 * found[len(found) * 99 // 100], 3),
        cpu_us=round(1e6 * server / len(found), 1),
        generator_busy=round(own / took, 2),
        failures=window.failures,
    )


if __name__ == "__main__":
    found = uvloop.run(run(msgspec.json.decode(sys.stdin.buffer.read(), type=Job)))
    sys.stdout.buffer.write(msgspec.json.encode(found))
