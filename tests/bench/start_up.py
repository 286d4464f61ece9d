"""From the start of the process to the first healthy answer, what it holds idle, and what it has imported."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from tests.bench import seeds, servers
from tests.bench.processes import ROOT, Server, memory
from tests.bench.scale import Scale

_LESSONS = 1_000
_SETTLED_S = 1.0
_HEAVY = (
    "anthropic",
    "alembic",
    "asyncmy",
    "asyncpg",
    "httpx",
    "numpy",
    "onnxruntime",
    "pymilvus",
    "sqlalchemy",
    "yaml",
)
_PACKAGES = ("domain", "application", "adapters", "entrypoints", "memorygrid_incorporator", "tests/bench")
_IMPORTS = "import sys, {module}; print(*[one for one in {heavy} if one in sys.modules])"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds to the first healthy answer (median, and the longest), and memory in MB once nothing happens."""

    server: str
    start_s: float
    longest_s: float
    resident_mb: float
    own_mb: float


def run(scale: Scale) -> dict[str, object]:
    """The service with 1,000 lessons (a database that is there), and the no-op."""
    _compile()
    times = max(3, scale.rounds)
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder:
        work, catalog = Path(folder), seeds.lesson_catalog(_LESSONS)
        service: list[Found] = []
        floor: list[Found] = []
        for _ in range(times):
            service.append(_started("service", servers.service(work, catalog, scale.entries)))
            floor.append(_started("no-op", servers.floor(work)))
        heavy = _imported(work)
    return {"lessons": _LESSONS, "servers": [_middle(service), _middle(floor)], "imported": heavy}


def _compile() -> None:
    """As an installation does: without it each start compiles our own modules anew where nothing may be written."""
    command = [sys.executable, "-m", "compileall", "-q", *_PACKAGES]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def _started(name: str, server: Server) -> Found:
    with server:
        time.sleep(_SETTLED_S)
        held = memory(server.pid)
        start = round(server.started_in_s, 3)
        return Found(server=name, start_s=start, longest_s=start, resident_mb=held.resident, own_mb=held.own)


def _middle(found: list[Found]) -> Found:
    names = ("start_s", "resident_mb", "own_mb")
    middle = {name: round(statistics.median(getattr(one, name) for one in found), 3) for name in names}
    return Found(server=found[0].server, longest_s=max(one.start_s for one in found), **middle)


def _imported(work: Path) -> list[str]:
    """Which of the heavy modules the service's app brings with it, before any request."""
    code = _IMPORTS.format(module="memorygrid_incorporator.main", heavy=_HEAVY)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=work, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()
