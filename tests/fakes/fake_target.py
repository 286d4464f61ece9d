"""A target of escalations that does what a test wrote down for it."""

from __future__ import annotations

import anyio
import anyio.lowlevel

from application.feedback.ports import EscalationTarget
from domain.feedback.escalation import Escalation, State

#: A delivery that never ends.
HANGS = "hangs"

Line = State | Exception | str


class ScriptedTarget(EscalationTarget):
    """Does the lines in order, one for each delivery; the last stays for all that follow. `delivered` are those."""

    def __init__(self, *script: Line, name: str = "scripted", in_process: bool = False) -> None:
        self.delivered: list[Escalation] = []
        self._script: list[Line] = list(script) or [State.DELIVERED]
        self._name = name
        self._in_process = in_process

    def will(self, *script: Line) -> None:
        """Replaces what is left of the script."""
        self._script = list(script)

    @property
    def name(self) -> str:
        return self._name

    @property
    def in_process(self) -> bool:
        return self._in_process

    async def deliver(self, escalation: Escalation) -> State:
        self.delivered.append(escalation)
        line = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(line, Exception):
            raise line
        if not isinstance(line, State):
            await anyio.sleep_forever()
        await anyio.lowlevel.checkpoint()
        return State(line)
