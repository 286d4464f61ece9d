"""Processes of the benchmark: each pinned to one core, watched through /proc, and ended by its own id."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import msgspec

ROOT = Path(__file__).parents[2]
SERVER_CORE = min(os.sched_getaffinity(0))
LOAD_CORE = max(os.sched_getaffinity(0))

_STARTS_WITHIN_S = 900.0
_ENDS_WITHIN_S = 20.0
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What a process has written so far, in bytes: as given to the disk (`write_bytes`), and to any file (`wchar`)."""

    write_bytes: int
    wchar: int


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Of one process, in MB: what it holds resident, and the part that is its own (not files' pages)."""

    resident: float
    own: float


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has taken so far, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND


def written(pid: int) -> Written:
    """The kernel's account of what a process has written, all its threads together."""
    account = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return Written(write_bytes=int(account["write_bytes"]), wchar=int(account["wchar"]))


def memory(pid: int) -> Memory:
    """What a process holds now."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    resident, own = (int(status[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon"))
    return Memory(resident=round(resident, 1), own=round(own, 1))


def family(pid: int) -> list[int]:
    """A process and all that it has started, as far as they still run."""
    try:
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return []
    return [pid, *(one for child in children for one in family(child))]


def share_of_memory(pid: int) -> float:
    """What a process holds resident, in MB; pages that several share count for each in part. 0 once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens at just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def run_pinned(module: str, job: bytes, core: int | None = LOAD_CORE, timeout_s: float = 300.0) -> bytes:
    """Runs one of our modules on one core (None: on any), with `job` on its standard input; its standard output."""
    pinned = [] if core is None else ["taskset", "--cpu-list", str(core)]
    command = [*pinned, sys.executable, "-m", module]
    return subprocess.run(command, input=job, stdout=subprocess.PIPE, check=True, cwd=ROOT, timeout=timeout_s).stdout


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """This thread, and those that it starts within the block, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Server:
    """One HTTP server process on 127.0.0.1, alive while the `with` block lasts; its output goes to `log`."""

    def __init__(self, arguments: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self.started_in_s = 0.0
        self._command = [sys.executable, *arguments, "--port", str(self.port)]
        self._environment = {**os.environ, **(environment or {}), "PYTHONPATH": str(ROOT)}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the server has not been started")
        return self._process.pid

    def __enter__(self) -> Server:
        began = time.perf_counter()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["taskset", "--cpu-list", str(SERVER_CORE), *self._command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._log.parent,
                env=self._environment,
            )
        try:
            self._wait_until_healthy(self._process, began)
        except BaseException:
            self._end(self._process)
            raise
        self.started_in_s = time.perf_counter() - began
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._process is not None:
            self._end(self._process)

    def get(self, path: str, timeout_s: float = 60.0) -> tuple[int, dict[str, str], bytes]:
        """One request: status, headers (names in lower case) and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def _wait_until_healthy(self, process: subprocess.Popen[bytes], began: float) -> None:
        while True:
            try:
                if self.get("/health", timeout_s=5)[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            if process.poll() is not None or time.perf_counter() - began > _STARTS_WITHIN_S:
                tail = self._log.read_text(errors="replace").splitlines()[-20:]
                raise RuntimeError("\n".join(["the server did not start:", *tail]))
            time.sleep(0.002)

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
