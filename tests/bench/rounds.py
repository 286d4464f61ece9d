"""Interleaved rounds: A B C, A B C, … so that whatever slows the machine for a while slows all alike."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec

from tests.bench.load import Job, Load
from tests.bench.processes import Server, run_pinned
from tests.bench.scale import Scale

INVOKE = "/incorporator/invoke"
OUTCOME = "/incorporator/outcome"

_MOST_WARM_UPS = 100


def one_round(
    server: Server, path: str, bodies: Sequence[str], connections: int, seconds: float, *, warm_up_s: float = 0.3
) -> Load:
    """One round of the load generator, in a process of its own. Raises where an answer is not a success."""
    job = Job(
        port=server.port,
        path=path,
        bodies=bodies,
        connections=connections,
        seconds=seconds,
        warm_up_s=warm_up_s,
        server_pid=server.pid,
    )
    found = msgspec.json.decode(run_pinned("tests.bench.load", msgspec.json.encode(job)), type=Load)
    if found.failures:
        raise RuntimeError(f"{found.failures} of {found.requests} answers of {path} were no success")
    return found


def warmed_up(server: Server, path: str, bodies: Sequence[str]) -> None:
    """Sends each body at least once, so that what is computed once has been."""
    sent = 0
    for _ in range(_MOST_WARM_UPS):
        sent += one_round(server, path, bodies[sent % len(bodies) :], 4, 0.5, warm_up_s=0.0).requests
        if sent >= len(bodies):
            return


def interleaved(
    servers: Mapping[str, Server], path: str, bodies: Sequence[str], connections: int, scale: Scale
) -> dict[str, list[Load]]:
    """So many rounds of each server, in turn."""
    found: dict[str, list[Load]] = {name: [] for name in servers}
    for _ in range(scale.rounds):
        for name, server in servers.items():
            found[name].append(one_round(server, path, bodies, connections, scale.round_s))
    return found


class Median(msgspec.Struct, frozen=True, kw_only=True):
    """Of a server's rounds, each figure by itself; `spread` is the middle half of the throughputs over the median."""

    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    generator_busy: float
    spread: float
    rounds: int


def median(loads: Sequence[Load]) -> Median:
    """The medians of several rounds."""
    rates = sorted(one.per_second for one in loads)
    middle = rates[len(rates) * 3 // 4] - rates[len(rates) // 4]
    names = ("per_second", "p50_ms", "p99_ms", "cpu_us", "generator_busy")
    figures = {name: round(statistics.median(getattr(one, name) for one in loads), 3) for name in names}
    return Median(**figures, spread=round(middle / statistics.median(rates), 3), rounds=len(loads))
