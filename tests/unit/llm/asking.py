"""A question, and what the tests of the adapter share in asking it."""

from __future__ import annotations

import pytest

from application.shared.ports import Llm, LlmPrompt
from domain.errors import LlmUnavailable

KEY = "sk-ant-a-secret-0123456789"
PROMPT = LlmPrompt(
    system="Choose.",
    user="<data>{}</data>",
    schema={"type": "object", "properties": {"action": {"type": "string"}}, "additionalProperties": False},
    max_tokens=256,
)


async def refusal_of(llm: Llm, timeout_s: float = 10.0) -> LlmUnavailable:
    """Asks, and gives back the error that comes instead of a reply."""
    with pytest.raises(LlmUnavailable) as caught:
        await llm.ask(PROMPT, timeout_s)
    return caught.value
