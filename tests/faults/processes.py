"""Stopping a server's processes for a while, so that it neither answers nor refuses."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
