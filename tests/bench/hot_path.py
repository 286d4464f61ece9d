"""Invoke and outcome over HTTP against the no-op floor and the naive variant, in interleaved rounds."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from tests.bench import seeds, servers
from tests.bench.load import Load
from tests.bench.rounds import INVOKE, OUTCOME, Median, interleaved, median, warmed_up
from tests.bench.scale import Scale


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One path at one number of connections; the ratios are to the no-op's of the same rounds."""

    path: str
    connections: int
    server: str
    figures: Median
    throughput_ratio: float
    cpu_ratio: float


def run(scale: Scale) -> dict[str, object]:
    """The points, and every round that they come from."""
    catalog = seeds.lesson_catalog(scale.lessons)
    bodies = {INVOKE: servers.invoke_bodies(), OUTCOME: servers.outcome_bodies(scale.entries)}
    points: list[Point] = []
    raw: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder, ExitStack() as running:
        work = Path(folder)
        contenders = {
            "no-op": running.enter_context(servers.floor(work)),
            "service": running.enter_context(servers.service(work, catalog, scale.entries)),
            "naive": running.enter_context(servers.naive(work, catalog, scale.entries)),
        }
        for server in contenders.values():
            for path, of_path in bodies.items():
                warmed_up(server, path, of_path)
        for path, of_path in bodies.items():
            for connections in scale.connections:
                found = interleaved(contenders, path, of_path, connections, scale)
                points += _points(path, connections, found)
                raw.append({"path": path, "connections": connections, "rounds": found})
    return {"lessons": scale.lessons, "entries": scale.entries, "points": points, "raw": raw}


def _points(path: str, connections: int, found: Mapping[str, Sequence[Load]]) -> list[Point]:
    medians = {name: median(loads) for name, loads in found.items()}
    floor = medians["no-op"]
    return [
        Point(
            path=path,
            connections=connections,
            server=name,
            figures=one,
            throughput_ratio=round(one.per_second / floor.per_second, 3),
            cpu_ratio=round(one.cpu_us / floor.cpu_us, 3) if floor.cpu_us else 0.0,
        )
        for name, one in medians.items()
    ]
