"""What the newcomer has at hand: a terminal, the service that was started in it, and an agent's HTTP calls."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_START_S = 60.0
_CALL_S = 60.0
_LONGEST_S = 900.0
_FOREIGN = ("MG_", "ANTHROPIC_")


class Unexpected(Exception):
    """Something did not come out as the newcomer has been told."""


class Terminal:
    """Runs commands in `folder`, with no settings but the defaults. What they say on standard error is shown."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}

    def run(self, *command: str | Path, cwd: Path | None = None, code: int = 0) -> str:
        """What the command prints. Raises `Unexpected` where it ends otherwise than with `code`."""
        words = [str(one) for one in command]
        done = subprocess.run(  # noqa: S603 - the project's own commands
            words,
            cwd=cwd or self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            text=True,
            timeout=_LONGEST_S,
            check=False,
        )
        if done.returncode != code:
            raise Unexpected(
                f"{' '.join(words)} ended with {done.returncode} instead of {code}:\n{done.stdout[-2000:]}"
            )
        return done.stdout

    @contextmanager
    def serving(self, command: Sequence[str | Path], settings: dict[str, str]) -> Iterator[str]:
        """The address of a service that ends with the block."""
        log = self.folder / "service.log"
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - the project's own command
                [str(one) for one in command], cwd=self.folder, env={**self.env, **settings}, stdout=out, stderr=out
            )
        try:
            yield _address(process, log)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Api:
    """An agent's calls of the service."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer; None for a 404. Raises `Unexpected` for any other error."""
        request = urllib.request.Request(  # noqa: S310 - the address is of a service that was started here
            self._url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with self._opener.open(request, timeout=_CALL_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise Unexpected(f"{path} answered {error.code}: {error.read().decode()}") from error


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"running on (http://[\d.]+:\d+)", log.read_text(errors="replace"))
        if found is not None:
            return found[1]
        time.sleep(0.05)
    raise Unexpected(f"the service did not start:\n{log.read_text(errors='replace')[-2000:]}")
