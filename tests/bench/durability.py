"""What a process makes durable while something is asked of it: the bytes that it writes, and how often it flushes.

Bytes come from the kernel's account, flushes from strace, which is not on every machine and not permitted on every one.
"""

from __future__ import annotations

import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.bench.processes import written

FLUSHES = ("fsync", "fdatasync", "sync_file_range", "msync")

_STARTS_WITHIN_S = 20.0
_ENDS_WITHIN_S = 20.0


class Durability(msgspec.Struct, frozen=True, kw_only=True):
    """Of one of `times` calls on average. `account` is the kernel's account that the bytes come from: `write_bytes`, or
    `wchar` on a file system where the other stays 0. `flushes` are by system call, and None where they are not counted,
    for the reason in `not_counted`.
    """

    times: int
    bytes_written: int
    account: str
    flushes: Mapping[str, float] | None = None
    not_counted: str | None = None


class _Counter:
    """What strace has counted once its block has been left."""

    def __init__(self) -> None:
        self.calls: Mapping[str, int] | None = None
        self.problem: str | None = None


def durability(pid: int, call: Callable[[], int]) -> Durability:
    """Of what the process does during `call`, which answers how many times it was done."""
    before = written(pid)
    with _counted(pid) as counter:
        times = call()
    after = written(pid)
    given, account = after.write_bytes - before.write_bytes, "write_bytes"
    if given == 0:
        given, account = after.wchar - before.wchar, "wchar"
    return Durability(
        times=times,
        bytes_written=round(given / times),
        account=account,
        flushes=None if counter.calls is None else {name: n / times for name, n in counter.calls.items()},
        not_counted=counter.problem,
    )


@contextmanager
def _counted(pid: int) -> Iterator[_Counter]:
    counter = _Counter()
    program = shutil.which("strace")
    if program is None:
        counter.problem = "strace is not here"
        yield counter
        return
    with tempfile.TemporaryDirectory(prefix="memorygrid-strace-") as folder:
        table = Path(folder) / "calls"
        command = [program, "-f", "-c", "-o", str(table), "-e", f"trace={','.join(FLUSHES)}", "-p", str(pid)]
        strace = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0)
        try:
            said = _first_line(strace)
            if "attached" not in said:
                counter.problem = f"strace says {said!r}"
            yield counter
        finally:
            _end(strace)
        if counter.problem is None:
            counter.calls = calls_of(table.read_text())


def calls_of(table: str) -> dict[str, int]:
    """The calls of each kind in a table of `strace -c`; a kind that was not called is not there."""
    rows = [line.split() for line in table.splitlines()]
    return {row[-1]: int(row[3]) for row in rows if row and row[-1] in FLUSHES}


def _first_line(strace: subprocess.Popen[bytes]) -> str:
    """What it says first, or nothing where it says nothing in time."""
    until = time.monotonic() + _STARTS_WITHIN_S
    said = b""
    while strace.stderr is not None and b"\n" not in said:
        if not select.select([strace.stderr], [], [], max(0.0, until - time.monotonic()))[0]:
            break
        piece = strace.stderr.read(1 << 12)
        if not piece:
            break
        said += piece
    return said.decode(errors="replace").partition("\n")[0].strip()


def _end(strace: subprocess.Popen[bytes]) -> None:
    """As one interrupts it, so that it lets go of the process and writes its table."""
    if strace.poll() is None:
        strace.send_signal(signal.SIGINT)
    try:
        strace.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        strace.kill()
        strace.wait()
    if strace.stderr is not None:
        strace.stderr.close()
