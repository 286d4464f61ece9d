"""Instruction templates evaluate nothing, and grow to no length that hurts."""

from __future__ import annotations

import time

import pytest

from domain.incorporator.outcome import dsl_instruction
from tests.fakes.examples import copy, query
from tests.unit.attacks.corpus import AGAINST_TEMPLATES, EVERY_TEXT


def instruction(template: str, **context: object) -> str:
    lesson = copy(dsl_payload={"action": "retry", "instruction_template": template})
    return dsl_instruction(lesson, query(current_task_context=context))


@pytest.mark.parametrize("template", AGAINST_TEMPLATES)
def test_a_template_evaluates_nothing(template: str) -> None:
    filled = instruction(template, operation="upload")
    assert filled in (
        template,
        template.replace("{{", "{").replace("}}", "}"),
        template.replace("{operation}", "upload"),
    )


@pytest.mark.parametrize("value", EVERY_TEXT)
def test_a_value_is_filled_in_as_it_is_and_not_filled_again(value: str) -> None:
    assert instruction("Do {operation} now", operation=value, secret="x") == f"Do {value} now"


def test_a_template_that_would_grow_beyond_all_use_is_left_as_it_is() -> None:
    template = "{operation}" * 50_000
    start = time.process_time()
    assert instruction(template, operation="x" * 500_000) == template
    assert instruction(template, operation={"x": ["y" * 500_000]}) == template
    assert time.process_time() - start < 2
    assert instruction(template, operation="x") == "x" * 50_000
