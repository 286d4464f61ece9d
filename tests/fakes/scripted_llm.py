"""A language model that says what a test wrote down for it."""

from __future__ import annotations

import anyio
import msgspec

from application.shared.ports import Llm, LlmPrompt, LlmReply
from domain.errors import LlmUnavailable


class Late(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that takes `after_s` seconds to come."""

    reply: str | LlmReply
    after_s: float


Line = str | LlmReply | Late | Exception


class ScriptedLlm(Llm):
    """Gives the lines in order, one for each question; an exception is raised. The last line stays for all that follow.

    `prompts` are the questions that were asked and `timeouts` the seconds that each was given. With a `problem` it is
    asked nothing.
    """

    def __init__(self, *script: Line, problem: str | None = None) -> None:
        self.prompts: list[LlmPrompt] = []
        self.timeouts: list[float] = []
        self._script = list(script)
        self._problem = problem

    def will(self, *script: Line) -> None:
        """Replaces what is left of the script."""
        self._script = list(script)

    def problem(self) -> str | None:
        return self._problem

    async def ask(self, prompt: LlmPrompt, timeout_s: float) -> LlmReply:
        if self._problem is not None:
            raise LlmUnavailable(self._problem)
        if timeout_s <= 0:
            raise LlmUnavailable("No time was left to ask the language model.")
        self.prompts.append(prompt)
        self.timeouts.append(timeout_s)
        line = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        try:
            with anyio.fail_after(timeout_s):
                return await _said(line)
        except TimeoutError as error:
            raise LlmUnavailable(f"The language model did not answer within {timeout_s:g} s.") from error


async def _said(line: Line) -> LlmReply:
    await anyio.sleep(line.after_s if isinstance(line, Late) else 0)
    if isinstance(line, Exception):
        raise line
    reply = line.reply if isinstance(line, Late) else line
    return reply if isinstance(reply, LlmReply) else LlmReply(text=reply, input_tokens=11, output_tokens=7)
