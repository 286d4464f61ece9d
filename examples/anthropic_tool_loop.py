"""The Anthropic tool-use loop, with lessons: a tool that fails brings the lesson that applies back with its error.

The model then decides with it. How the next use of a tool goes is reported as the lesson's outcome.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import anthropic
from anthropic.types import MessageParam, ToolParam, ToolResultBlockParam, ToolUseBlock

from memorygrid_incorporator.pipeline.incorporator_hook import ApplierOutcome, SyncIncorporatorHookClient

MODEL = os.environ.get("ANTHROPIC_MODEL", "claude-haiku-5-5")
SESSION = "tool-loop-1"
TOOLS: list[ToolParam] = [
    {
        "name": "upload",
        "description": "Uploads a file. The target is 'primary' or 'mirror'.",
        "input_schema": {
            "type": "object",
            "properties": {"file": {"type": "string"}, "target": {"type": "string", "enum": ["primary", "mirror"]}},
            "required": ["file", "target"],
        },
    }
]


class Lessons:
    """Asks for a lesson when a tool has failed, and reports it by how the next use of a tool goes."""

    def __init__(self, hook: SyncIncorporatorHookClient) -> None:
        self._hook = hook
        self._open: tuple[str, ApplierOutcome] | None = None

    def after(self, use: ToolUseBlock, error: str | None) -> str | None:
        """The instruction that goes to the model with the error, if a lesson applies."""
        if self._open is not None:
            step, outcome = self._open
            self._hook.report_outcome(step, SESSION, error is None, outcome_id=outcome.id)
            self._open = None
        if error is None:
            return None
        found = self._hook.invoke(
            session_id=SESSION,
            problem_solving_step_ref=use.id,
            problem_type=f"flaky_{use.name}",
            current_task_context={"operation": f"{use.name} {use.input['file']}", "error": error},
            on_no_match=None,
        )
        if found is None:
            return None
        self._open = (use.id, found)
        return found.instruction


def upload(given: Mapping[str, object]) -> str | None:
    """Stands for your own tool: the primary storage is degraded. Answers the error, or None."""
    return "503: storage is degraded" if given["target"] == "primary" else None


def used(use: ToolUseBlock, lessons: Lessons) -> ToolResultBlockParam:
    error = upload(use.input)
    lesson = lessons.after(use, error)
    said = error or "done"
    if lesson is not None:
        said += f"\nA lesson from earlier runs: {lesson}"
    return {"type": "tool_result", "tool_use_id": use.id, "content": said, "is_error": error is not None}


def main() -> None:
    client = anthropic.Anthropic()
    messages: list[MessageParam] = [{"role": "user", "content": "Upload report.pdf to the primary storage."}]
    with SyncIncorporatorHookClient(os.environ.get("MEMORYGRID_URL", "http://localhost:8001")) as hook:
        lessons = Lessons(hook)
        while True:
            reply = client.messages.create(model=MODEL, max_tokens=1024, tools=TOOLS, messages=messages)
            messages.append({"role": "assistant", "content": reply.content})
            uses = [block for block in reply.content if block.type == "tool_use"]
            if not uses:
                print("".join(block.text for block in reply.content if block.type == "text"))
                return
            messages.append({"role": "user", "content": [used(one, lessons) for one in uses]})


if __name__ == "__main__":
    main()
