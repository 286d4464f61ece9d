"""The watcher beside a test server: when the test session is gone, however it went, so are server and data.

Run as a script it reads the server's process id, or 0 for none, line by line from its standard input. The other end is
held by the test session alone, so the end of the input means that the session has ended. It imports nothing of ours,
so that it is there before the server is.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

_SECONDS_TO_QUIT = 5


def alive(pid: int) -> bool:
    """Tell whether the process runs; one that has ended and waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


def kill_tree(pid: int) -> list[int]:
    """Kill the process and all that it has started, leaving it no time to start more; return their ids."""
    killed = [pid]
    try:
        os.kill(pid, signal.SIGSTOP)
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                killed += kill_tree(int(child))
        os.kill(pid, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return killed
    return killed


def end(pid: int) -> None:
    """Make the process quit, which lets PostgreSQL give back its shared memory, and kill it if it does not."""
    os.kill(pid, signal.SIGQUIT)
    deadline = time.monotonic() + _SECONDS_TO_QUIT
    while alive(pid):
        if time.monotonic() > deadline:
            kill_tree(pid)
        time.sleep(0.02)


def watch(directory: Path) -> None:
    """Wait for the end of the session, then end the server that it last named and remove its directory."""
    pid = 0
    for line in sys.stdin:
        pid = int(line)
    if pid and alive(pid):
        end(pid)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
