"""Programs of an environment that has the distributions installed, run far from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import httpx

_ADDRESS = re.compile(r"running on (http://[\d.]+:\d+)")


def clean_environment() -> dict[str, str]:
    """Without anything by which the checkout, or another environment, could be found."""
    foreign = ("MG_", "ANTHROPIC", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def run(command: Sequence[str | Path], folder: Path, timeout: float = 300) -> str:
    """What the command prints; it must end well."""
    done = subprocess.run(
        [str(one) for one in command],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


class InstalledService:
    """The service as an environment's uvicorn serves it, in a folder of its own."""

    def __init__(self, python: Path, home: Path) -> None:
        self._python = python
        self._home = home
        self._log = home / "service.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""

    def __enter__(self) -> InstalledService:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._python, "-m", "uvicorn", "memorygrid_incorporator.main:app", "--port", "0"],
                cwd=self._home,
                env=clean_environment(),
                stdout=log,
                stderr=log,
            )
        self._url = self._address(self._process)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            assert self._process.wait(30) in (0, -15)

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self._url, timeout=40, trust_env=False)

    def _address(self, process: subprocess.Popen[bytes]) -> str:
        end = time.monotonic() + 90
        while time.monotonic() < end:
            text = self._log.read_text(errors="replace")
            found = _ADDRESS.search(text)
            if found is not None:
                return found[1]
            assert process.poll() is None, text[-3000:]
            time.sleep(0.05)
        raise AssertionError("the service did not start within 90 s")
