"""The service as a process of its own: plain uvicorn, started as a user would start it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

#: Where the service listens: this machine only.
HOST = "127.0.0.1"
_ROOT = Path(__file__).parents[2]
_ADDRESS = re.compile(r"running on (http://[\d.]+:\d+)")
_START_S = 60.0
_STOP_S = 15.0
_HARMLESS = {"MG_LOG_LEVEL", "MG_LOG_FORMAT"}
_FOREIGN = ("MG_", "ANTHROPIC_", "UVICORN_", "WEB_CONCURRENCY", "FORWARDED_ALLOW_IPS")


class ServiceFailed(Exception):
    """The service did not start; the message ends with the last lines of its log."""


class ServiceProcess:
    """A service whose working directory is `folder`, with default settings.

    The user's MG_* variables do not reach it; the language model's do, where `with_llm`. `port` 0 is any free one.
    """

    def __init__(self, folder: Path, *, port: int = 0, with_llm: bool = False) -> None:
        self._folder = folder
        self._port = port
        self._with_llm = with_llm
        self._log = folder / "service.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def __enter__(self) -> ServiceProcess:
        command = [sys.executable, "-m", "uvicorn", "memorygrid_incorporator.main:app", "--app-dir", str(_ROOT)]
        command += ["--host", HOST, "--port", str(self._port), "--workers", "1", "--no-access-log"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
                command, cwd=self._folder, env=self._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            self.url = self._address(self._process)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def wait(self) -> int:
        """Waits until the process has ended by itself; its exit code."""
        return self._process.wait() if self._process is not None else 0

    def _address(self, process: subprocess.Popen[bytes]) -> str:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            found = _ADDRESS.search(self._log_text())
            if found is not None:
                return found[1]
            if process.poll() is not None:
                raise ServiceFailed(f"the service ended with {process.returncode} instead of starting:{self._tail()}")
            time.sleep(0.05)
        raise ServiceFailed(f"the service did not start within {_START_S:g} s:{self._tail()}")

    def _environment(self) -> dict[str, str]:
        def reaches(name: str) -> bool:
            wanted = name in _HARMLESS or (self._with_llm and name.startswith("ANTHROPIC_"))
            return wanted or not name.startswith(_FOREIGN)

        return {name: value for name, value in os.environ.items() if reaches(name)}

    def _log_text(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def _tail(self) -> str:
        return "".join(f"\n  {line}" for line in self._log_text().splitlines()[-8:])

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
