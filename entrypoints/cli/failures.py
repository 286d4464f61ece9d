"""How a command ends when it does not succeed: one sentence on standard error, and an exit code for scripts."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What scripts can rely on."""

    OK = 0
    NO = 1
    USAGE = 2
    UNREACHABLE = 3
    DENIED = 4
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "done; the answer is yes",
    ExitCode.NO: "the answer is no: no match, nothing of that id, a check that failed, a decision not allowed, "
    "files that could not be imported",
    ExitCode.USAGE: "wrong usage, input or configuration",
    ExitCode.UNREACHABLE: "the service or a store does not answer; trying again may help",
    ExitCode.DENIED: "the service refuses this key, or asks for one",
    ExitCode.INTERRUPTED: "interrupted",
}


class Failure(Exception):
    """Ends the command with `message` on standard error. `answered`: the service itself has said so."""

    def __init__(self, message: str, code: ExitCode, *, answered: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.answered = answered
