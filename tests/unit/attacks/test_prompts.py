"""Lessons and callers' data are data for the language model, whatever they say."""

from __future__ import annotations

import re

import msgspec
import pytest

from application.incorporator.prompts import apply_prompt, match_prompt
from application.shared.ports import LlmPrompt
from tests.fakes.examples import copy, query
from tests.unit.attacks.corpus import EVERY_TEXT

_BLOCK = re.compile(r"<(data-[0-9a-f]{16})>\n([^\n<]*)\n</\1>")


def prompts_with(text: str) -> list[LlmPrompt]:
    """Both questions, with the text in every place that somebody else fills."""
    data: dict[str, object] = {text: text, "nested": [{text: [text]}]}
    lesson = copy(title=text, body=text, tags=(text,), dsl_payload={text: text})
    asked = query(current_task_context=data, system_state=data, additional_caller_data=data)
    return [match_prompt(asked, [lesson, lesson]), apply_prompt(asked, lesson)]


@pytest.mark.parametrize("text", EVERY_TEXT)
def test_no_text_leaves_the_data_block(text: str) -> None:
    for prompt in prompts_with(text):
        block = _BLOCK.fullmatch(prompt.user)
        assert block is not None
        data = msgspec.json.decode(block[2])
        told = data.get("problem", data)["current_task_context"]
        assert told == {text: text, "nested": [{text: [text]}]}


@pytest.mark.parametrize("text", EVERY_TEXT)
def test_no_text_changes_the_instructions_or_the_replys_schema(text: str) -> None:
    for prompt, harmless in zip(prompts_with(text), prompts_with("harmless"), strict=True):
        assert (prompt.system, prompt.schema, prompt.max_tokens) == (
            harmless.system,
            harmless.schema,
            harmless.max_tokens,
        )


def test_the_delimiter_cannot_be_foreseen() -> None:
    assert len({prompt.user.partition("\n")[0] for _ in range(50) for prompt in prompts_with("a")}) == 100
