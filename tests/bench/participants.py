"""The processes that take turns: each waits on one core until it is asked, and is ended by its own id."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from tests.bench.peer_protocol import Request
from tests.bench.processes import ROOT, SERVER_CORE

Answer = TypeVar("Answer", bound=msgspec.Struct)

_ENDS_WITHIN_S = 20.0


class ParticipantFailed(RuntimeError):
    """It ended, or did not answer in time; the message says which, and what it last wrote to its log."""


class Participant:
    """One worker, alive while the `with` block lasts or until it fails; what it prints goes to `log`."""

    def __init__(self, command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._command = command
        self._log = log
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._read = b""

    @property
    def pid(self) -> int:
        return self._started.pid

    def __enter__(self) -> Participant:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["taskset", "--cpu-list", str(SERVER_CORE), *self._command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                cwd=self._log.parent,
                env=self._environment,
            )
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        process = self._started
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def ask(self, request: Request, kind: type[Answer], within_s: float) -> Answer:
        """Sends a request, and waits for its answer. Raises `ParticipantFailed`, after which the process has ended."""
        process = self._started
        try:
            if process.stdin is not None:
                process.stdin.write(msgspec.json.encode(request) + b"\n")
        except BrokenPipeError:
            raise self._failed("it had ended before it was asked") from None
        return self.answer(kind, within_s)

    def answer(self, kind: type[Answer], within_s: float) -> Answer:
        """The next line. Raises `ParticipantFailed`, after which the process has ended."""
        until = time.monotonic() + within_s
        stdout = self._started.stdout
        while stdout is not None and b"\n" not in self._read:
            if not select.select([stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise self._failed(f"no answer within {within_s:g} s")
            piece = os.read(stdout.fileno(), 1 << 16)
            if not piece:
                raise self._failed("it ended")
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.DecodeError as error:
            raise self._failed(f"an answer that is no {kind.__name__}: {error}") from error

    @property
    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the participant has not been started")
        return self._process

    def _failed(self, how: str) -> ParticipantFailed:
        """Ends the process, so that the others have the core for themselves."""
        self._started.kill()
        self._started.wait()
        last = self._log.read_text(errors="replace").strip().splitlines()[-1:]
        return ParticipantFailed(": ".join([how, *last]))
