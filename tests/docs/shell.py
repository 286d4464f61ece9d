"""A page's shell: its commands run one after the other in a temporary folder, against services that they start."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.docs.blocks import PROJECT

_SERVES = re.compile(r"^(?:[A-Z_]+=\S+ +)*uvicorn memorygrid_\w+\.main:app .*--port (?P<port>\d+)", re.MULTILINE)
_PORT = re.compile(r"(?<=[:, ])(8000|8001|9000|9001)(?=\D|$)")
_PRELUDE = r"""
set -euo pipefail
set -a
if [ -f "$DOCS_STATE" ]; then . "$DOCS_STATE"; fi
curl() { command curl -sS -w '%{stderr}HTTP %{http_code}\n' "$@"; }
"""
_EPILOGUE = '\nexport -p > "$DOCS_STATE"\n'
_STATUS = re.compile(r"^HTTP (\d{3})$", re.MULTILINE)
_LONGEST_S = 90.0


class Done(NamedTuple):
    """What a command printed, with the page's own port numbers, and the statuses of its requests."""

    output: str
    statuses: list[int]


class Shell:
    """Variables that a block sets are there in the next one. Ports of the page stand for free ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state = folder / ".docs-state"
        self._ports: dict[str, int] = {}
        self._services: dict[str, subprocess.Popen[bytes]] = {}
        self._groups: list[int] = []
        (folder / "config").mkdir()
        shutil.copy(PROJECT / "config" / "dsl_match_rules.json", folder / "config")
        shutil.copytree(PROJECT / "config" / "samples", folder / "config" / "samples")

    @property
    def has_service(self) -> bool:
        return bool(self._services)

    def write(self, name: str, text: str) -> None:
        """A block that is a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._ported(text), encoding="utf-8")

    def run(self, script: str, place: str) -> Done:
        """The script's result; one that ends by serving goes on in the background until the page ends."""
        serves = _SERVES.search(script)
        if serves is None:
            return self._run(script, place)
        done = self._run(script[: serves.start()], place)
        self._serve(script[serves.start() :].strip(), serves["port"], place)
        return done

    def python(self, program: str, place: str) -> Done:
        self.write(".docs-block.py", program)
        return self._run("python .docs-block.py", place)

    def close(self) -> None:
        for service in self._services.values():
            service.kill()
            service.wait()
        for group in self._groups:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _run(self, script: str, place: str) -> Done:
        """Prints to files, so that what a block leaves running in the background holds nothing up."""
        out, err = self.folder / ".docs-out", self.folder / ".docs-err"
        with out.open("wb") as output, err.open("wb") as errors:
            process = subprocess.Popen(
                ["bash", "-c", _PRELUDE + self._ported(script) + _EPILOGUE],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            self._groups.append(process.pid)
            code = process.wait(_LONGEST_S)
        said = err.read_text(errors="replace")
        assert code == 0, f"{place} ended with {code}:\n{said[-3000:]}\n{out.read_text(errors='replace')[-2000:]}"
        return Done(self._unported(out.read_text()), [int(one) for one in _STATUS.findall(said)])

    def _serve(self, command: str, port: str, place: str) -> None:
        earlier = self._services.pop(port, None)
        if earlier is not None:
            earlier.terminate()
            earlier.wait(20)
        log = self.folder / f".docs-service-{port}"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", _PRELUDE + "exec env " + self._ported(command)],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self._services[port] = process
        url = f"http://127.0.0.1:{self._port(port)}/health"
        end = time.monotonic() + 60
        while not _answers(url):
            assert process.poll() is None, f"{place}: the service has ended:\n{log.read_text(errors='replace')[-3000:]}"
            assert time.monotonic() < end, f"{place}: the service did not start within 60 s"
            time.sleep(0.05)

    def _environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MG_", "ANTHROPIC"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        return {**kept, "PATH": path, "PYTHONPATH": str(PROJECT), "DOCS_STATE": str(self._state), "COLUMNS": "100"}

    def _port(self, named: str) -> int:
        if named not in self._ports:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self._ports[named] = int(free.getsockname()[1])
        return self._ports[named]

    def _ported(self, text: str) -> str:
        return _PORT.sub(lambda found: str(self._port(found[1])), text)

    def _unported(self, text: str) -> str:
        for named, port in self._ports.items():
            text = re.sub(rf"\b{port}\b", named, text)
        return text


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=1, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
