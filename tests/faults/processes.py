"""Processes: stopping a server's for a while, so that it neither answers nor refuses; the service by its command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.e2e.service import PROJECT, Service, until
from tests.servers.process import ServerProcess


@contextmanager
def stopped(server: ServerProcess) -> Iterator[None]:
    """SIGSTOP to the server and all that it has started; SIGCONT in the end."""
    assert server.pid is not None
    pids = _tree(server.pid)
    _send(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _send(pids, signal.SIGCONT)


def _tree(pid: int) -> list[int]:
    """The process and its descendants."""
    pids = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            pids += _tree(int(child))
    return pids


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


class ServedByCommand(Service):
    """`memorygrid serve` in place of uvicorn."""

    def start(self, within_s: float = 60.0) -> Service:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MG_", "ANTHROPIC"))}
        command = "from entrypoints.cli.main import main; main()"
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", command, "serve", "--port", str(self.port)],
                cwd=self.home,
                env={**inherited, "PYTHONPATH": str(PROJECT), **self._env},
                stdout=log,
                stderr=log,
            )
        until(self._healthy, within_s)
        return self
