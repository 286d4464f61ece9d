"""What every test server has in common: a private directory, a port, a process of its own, and an end."""

import atexit
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar

from typing_extensions import Self

from tests.servers import as_account, guard
from tests.servers.ports import PortLease

_LOG_TAIL_LINES = 40
_FOREIGN_SETTINGS = ("PG", "MYSQL_", "MARIADB_")


class ServerFailed(Exception):
    """A test server did not do what it was told; the message ends with the last lines of its log."""


class ServerProcess(ABC):
    """One server on 127.0.0.1 with a data directory that lives as long as this object.

    Data and port survive `stop`, `kill` and `start`; `close` ends the process and removes the data. Whoever forgets to
    close is helped by the exit handler, and if this process is killed, by the guard.
    """

    name: ClassVar[str]
    refuses_root: ClassVar[bool] = False
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    start_seconds: ClassVar[float] = 60
    stop_seconds: ClassVar[float] = 30

    def __init__(self) -> None:
        self._lease = PortLease()
        self.port = self._lease.port
        self.directory = Path(tempfile.mkdtemp(prefix=f"memorygrid-{self.name}-"))
        self.data = self.directory / "data"
        self.log = self.directory / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._account = pwd.getpwnam("nobody") if self.refuses_root and os.geteuid() == 0 else None
        self._give_to_account(self.directory)
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(self.directory)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        atexit.register(self.close)

    @classmethod
    @abstractmethod
    def unavailable(cls) -> str | None:
        """Say why this machine cannot have the server, and the command that installs it; None if it can."""

    @abstractmethod
    def _initialise(self) -> None:
        """Lay out the data directory; called once, before the first start."""

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """The command that runs the server in the foreground."""

    @abstractmethod
    def _ready(self) -> bool:
        """Tell whether the server answers."""

    @property
    def pid(self) -> int | None:
        """The process id of the running server."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the server and wait until it answers; nothing happens if it runs."""
        if self._process:
            return
        if not self.data.exists():
            self._initialise()
        with self.log.open("ab") as log:
            self._process = self._spawn(self._command(), log.fileno())
        self._tell_guard(self._process.pid)
        self._wait_until_ready(self._process)

    def stop(self) -> None:
        """Let the server end in order, as fast as it can without losing anything; nothing happens if it is down."""
        if not self._process:
            return
        self._process.send_signal(self.stop_signal)
        try:
            self._process.wait(self.stop_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failure(f"was still there {self.stop_seconds} s after {self.stop_signal.name}") from None
        self._forget_process()

    def kill(self) -> None:
        """Kill the server and all its processes, as a crash would; nothing happens if it is down."""
        if not self._process:
            return
        killed = guard.kill_tree(self._process.pid)
        self._process.wait()
        while any(guard.alive(pid) for pid in killed):
            time.sleep(0.005)
        self._forget_process()

    def restart(self) -> None:
        """Stop and start again, with the same data and port."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End the server and remove its data; the object is of no more use."""
        atexit.unregister(self.close)
        try:
            self.stop()
        finally:
            self._guard.communicate()
            self._lease.release()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a tool of the server to its end, under the server's account."""
        return subprocess.run(
            self._under_account(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.directory,
            env=self._environment() | environment,
        )

    def _run_checked(self, command: Sequence[str], **environment: str) -> None:
        result = self._run(command, **environment)
        if result.returncode:
            raise self._failure(f"tool {Path(command[0]).name} failed: {result.stdout}{result.stderr}")

    def _private_file(self, name: str, text: str) -> Path:
        """Write a file that only the server's account can read."""
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text(text)
        self._give_to_account(path)
        return path

    def _give_to_account(self, path: Path) -> None:
        if self._account:
            os.chown(path, self._account.pw_uid, self._account.pw_gid)

    def _spawn(self, command: Sequence[str], log: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._under_account(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.directory,
            env=self._environment(),
            start_new_session=True,
        )

    def _under_account(self, command: Sequence[str]) -> Sequence[str]:
        if self._account is None:
            return command
        account = (str(self._account.pw_uid), str(self._account.pw_gid))
        return [sys.executable, "-I", "-S", as_account.__file__, *account, *command]

    def _environment(self) -> dict[str, str]:
        """Ours, without what would point the server or its tools at another installation."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN_SETTINGS)}
        return ours | {"HOME": str(self.directory), "TMPDIR": str(self.directory)}

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + self.start_seconds
        while not self._ready():
            if process.poll() is not None:
                self._forget_process()
                raise self._failure(f"ended with {process.returncode} instead of starting")
            if time.monotonic() > deadline:
                self.kill()
                raise self._failure(f"did not answer within {self.start_seconds} s")
            time.sleep(0.02)

    def _forget_process(self) -> None:
        self._process = None
        self._tell_guard(0)

    def _tell_guard(self, pid: int) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.write(f"{pid}\n".encode())
        self._guard.stdin.flush()

    def _failure(self, what: str) -> ServerFailed:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return ServerFailed("\n".join([f"{self.name} {what}", *lines[-_LOG_TAIL_LINES:]]))
