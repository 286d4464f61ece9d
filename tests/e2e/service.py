"""The real service in a process of its own, in a temporary folder, on a free port of 127.0.0.1."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import httpx

PROJECT = Path(__file__).parents[2]
INCORPORATOR = "memorygrid_incorporator.main:app"
LEARNER = "memorygrid_learner.main:app"

T = TypeVar("T")


class Service:
    """`start`, `kill` (SIGKILL), `stop` (SIGTERM); the port and the folder stay the same over restarts."""

    def __init__(
        self, home: Path, env: Mapping[str, str] | None = None, app: str = INCORPORATOR, options: Sequence[str] = ()
    ) -> None:
        self.home = home
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._env = dict(env or {})
        self._app = app
        self._options = list(options)
        self._process: subprocess.Popen[bytes] | None = None

    def write_rules(self, rules: Sequence[Mapping[str, object]]) -> None:
        folder = self.home / "config"
        folder.mkdir(exist_ok=True)
        (folder / "dsl_match_rules.json").write_text(json.dumps({"rules": list(rules)}))

    def start(self, within_s: float = 60.0) -> Service:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MG_", "ANTHROPIC"))}
        with self._log_path.open("ab") as log:
            command = [sys.executable, "-m", "uvicorn", self._app, "--port", str(self.port), "--log-level", "warning"]
            self._process = subprocess.Popen(
                [*command, *self._options],
                cwd=self.home,
                env={**inherited, "PYTHONPATH": str(PROJECT), **self._env},
                stdout=log,
                stderr=log,
            )
        until(self._healthy, within_s)
        return self

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self, within_s: float = 20.0) -> int:
        """Asks it to end; its exit status."""
        if self._process is None:
            return 0
        self._process.terminate()
        try:
            return self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=40, headers=headers, trust_env=False)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def log(self) -> str:
        return self._log_path.read_text(errors="replace")

    @property
    def _log_path(self) -> Path:
        return self.home / f"service-{self.port}.log"

    def _healthy(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise AssertionError(f"the service has ended:\n{self.log()[-4000:]}")
        try:
            return httpx.get(f"{self.url}/health", timeout=1, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False


def until(found: Callable[[], T], within_s: float = 20.0) -> T:
    """What `found` gives as soon as it is true."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {within_s:g} s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
