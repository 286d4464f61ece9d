"""How the cost of requests grows with feedback entries and with lessons: it should not."""

from __future__ import annotations

import http.client
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec

from adapters.feedback.pages import CURSORS
from tests.bench import seeds, servers
from tests.bench.processes import Server, memory
from tests.bench.rounds import INVOKE, OUTCOME, Median, interleaved, median, warmed_up
from tests.bench.scale import Scale
from tests.bench.timing import Times, of_each

_CONNECTIONS = 16
_PAGE = 100
_DEPTHS = (1.0, 0.5, 0.001)


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One path at one size; `cpu_growth` is the processor time over that at the smallest size."""

    path: str
    size: int
    figures: Median
    cpu_growth: float


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A reading request with so many entries in the database."""

    what: str
    size: int
    times: Times


def run(scale: Scale) -> dict[str, object]:
    """The points of both growths, the reads, and the memory at each number of lessons."""
    by_entries, reads = _by_entries(scale)
    by_lessons, held = _by_lessons(scale)
    return {"by_entries": by_entries, "reads": reads, "by_lessons": by_lessons, "memory": held}


def _by_entries(scale: Scale) -> tuple[list[Point], list[Read]]:
    catalog = seeds.lesson_catalog(scale.lessons)
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder, ExitStack() as running:
        sizes = {
            size: running.enter_context(servers.service(Path(folder), catalog, size)) for size in scale.growing_entries
        }
        points = [*_points(INVOKE, sizes, scale), *_points(OUTCOME, sizes, scale)]
        reads = [read for size, server in sizes.items() for read in _reads(server, size, scale)]
    return points, reads


def _by_lessons(scale: Scale) -> tuple[list[Point], dict[str, dict[str, object]]]:
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder, ExitStack() as running:
        sizes = {
            size: running.enter_context(servers.service(Path(folder), seeds.lesson_catalog(size), scale.entries))
            for size in scale.growing_lessons
        }
        points = [*_points(INVOKE, sizes, scale), *_points(OUTCOME, sizes, scale)]
        held = {
            str(size): {"memory": memory(server.pid), "started_in_s": round(server.started_in_s, 2)}
            for size, server in sizes.items()
        }
    return points, held


def _points(path: str, sizes: Mapping[int, Server], scale: Scale) -> list[Point]:
    least = min(scale.growing_entries)
    bodies = servers.invoke_bodies() if path == INVOKE else servers.outcome_bodies(min(least, scale.entries))
    for server in sizes.values():
        warmed_up(server, path, bodies)
    named = {str(size): server for size, server in sizes.items()}
    found = interleaved(named, path, bodies, _CONNECTIONS, scale)
    medians = {int(size): median(loads) for size, loads in found.items()}
    base = medians[min(medians)].cpu_us or 1.0
    return [
        Point(path=path, size=size, figures=one, cpu_growth=round(one.cpu_us / base, 3))
        for size, one in medians.items()
    ]


def _reads(server: Server, size: int, scale: Scale) -> list[Read]:
    """The metrics, and pages of entries from the newest to nearly the oldest."""
    pages = {
        f"page at {depth:g} of the entries": f"/feedback?limit={_PAGE}&cursor={CURSORS.encode(int(size * depth))}"
        for depth in _DEPTHS
    }
    paths = {"metrics": "/feedback/metrics/usage", **pages}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        return [Read(what=what, size=size, times=_timed(connection, path, scale)) for what, path in paths.items()]
    finally:
        connection.close()


def _timed(connection: http.client.HTTPConnection, path: str, scale: Scale) -> Times:
    def get() -> None:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"GET {path} was answered with {answer.status}")

    get()
    return of_each([get] * scale.repeats)
