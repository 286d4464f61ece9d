"""Reading a language model's replies: what can be used is found, and nothing that it says can do harm."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.incorporator.reply import Action, Choice, parse_action, parse_choice

CHOSEN = Choice(lesson_id="l1", confidence=0.75)
CHOICE = '{"lesson_id": "l1", "confidence": 0.75}'
DO = '{"action": "wait", "instruction": "Wait a minute."}'
SECONDS = 0.5
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "reply",
    [
        CHOICE,
        f"  {CHOICE}\n",
        f"```json\n{CHOICE}\n```",
        f"```\n{CHOICE}```",
        f"The best one is:\n\n{CHOICE}\n\nI hope that this helps {{really}}.",
        f'{{not json}} {{"other": 1}} {CHOICE}',
        f'It\'s "quoted {{ and" {CHOICE}',
        f"{{ {CHOICE}",
        f"[{CHOICE}]",
        "{x} " * 500 + CHOICE,
        f"{CHOICE}{CHOICE}",
        f'{CHOICE} or {{"lesson_id": "l2", "confidence": 1}}',
        '{"confidence": 0.75, "why": "a } in \\" a {string", "lesson_id": "l1", "nested": {"lesson_id": "l9"}}',
        '{"lesson_id": "l2", "lesson_id": "l1", "confidence": 0.75}',
        '\ufeff{"lesson_id": "l1", "confidence": 75e-2}',
    ],
)
def test_a_choice_is_found_wherever_it_stands(reply: str) -> None:
    assert parse_choice(reply) == CHOSEN


@pytest.mark.parametrize(
    ("confidence", "clamped"),
    [
        ("0", 0.0),
        ("1", 1.0),
        ("-0.5", 0.0),
        ("1.5", 1.0),
        ("95", 1.0),
        ("-1e300", 0.0),
        ("1e300", 1.0),
        ("9" * 300, 1.0),
    ],
)
def test_the_confidence_is_clamped(confidence: str, clamped: float) -> None:
    assert parse_choice(f'{{"lesson_id": "l1", "confidence": {confidence}}}') == Choice(
        lesson_id="l1", confidence=clamped
    )


@pytest.mark.parametrize(
    "confidence",
    ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "9" * 400, "9" * 5000, "true", "null", '"0.9"', "[1]", "{}"],
)
def test_a_confidence_that_is_no_finite_number_makes_the_reply_unparsable(confidence: str) -> None:
    assert parse_choice(f'{{"lesson_id": "l1", "confidence": {confidence}}}') is None


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "l1",
        "I would rather not say.",
        "{",
        "}",
        "{}",
        "[]",
        "null",
        '{"lesson": "l1", "confidence": 1}',
        '{"lesson_id": "l1"}',
        '{"lesson_id": 1, "confidence": 1}',
        '{"lesson_id": ["l1"], "confidence": 1}',
        '{"lesson_id": true, "confidence": 1}',
        '{"lesson_id": "l1", "confidence": 0.7',
        "{'lesson_id': 'l1', 'confidence': 0.7}",
        '{"lesson_id": "\\ud83e", "confidence": 1}',
        '{"lesson_id": "\ud83e", "confidence": 1}',
        '{"lesson_id": "l1\x00\n", "confidence": 1}',
    ],
)
def test_what_is_no_choice_is_unparsable(reply: str) -> None:
    assert parse_choice(reply) is None


@pytest.mark.parametrize(
    "reply", ['{"lesson_id": null}', '{"lesson_id": null, "confidence": "x"}', '{"lesson_id": ""}']
)
def test_a_model_may_say_that_nothing_fits(reply: str) -> None:
    assert parse_choice(reply) == Choice(lesson_id=None, confidence=0.0)


def test_an_unusable_choice_is_not_made_up_for_by_a_later_one() -> None:
    assert parse_choice(f'{{"lesson_id": "l2", "confidence": NaN}} {CHOICE}') == CHOSEN
    assert parse_choice(f'{{"lesson_id": "l2", "confidence": "high"}} {CHOICE}') is None


@pytest.mark.parametrize("reply", [DO, f"```json\n{DO}\n```", f"So: {DO}.", f'{{"action": ""}} {DO}', f"{CHOICE} {DO}"])
def test_an_action_is_found_wherever_it_stands(reply: str) -> None:
    found = parse_action(reply)
    assert found == (Action(action="wait", instruction="Wait a minute."), json.loads(DO))


def test_an_action_comes_with_the_whole_object() -> None:
    found = parse_action('{"action": "wait", "instruction": "Wait.", "more": [1, {"a": null}]}')
    assert found is not None
    assert found[1] == {"action": "wait", "instruction": "Wait.", "more": [1, {"a": None}]}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Wait a minute.",
        "{}",
        '{"action": "wait"}',
        '{"instruction": "Wait."}',
        '{"action": " ", "instruction": "Wait."}',
        '{"action": "wait", "instruction": "\\n"}',
        '{"action": null, "instruction": "Wait."}',
        '{"action": "wait", "instruction": ["Wait."]}',
        '{"action": 1, "instruction": 2}',
    ],
)
def test_what_names_no_action_and_instruction_is_unparsable(reply: str) -> None:
    assert parse_action(reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        "{" * 1_000_000,
        "}" * 1_000_000,
        '{"a":' * 200_000,
        '{"a":' * 2_000 + "1" + "}" * 2_000,
        '{"a":' * 200_000 + "1" + "}" * 200_000,
        '{"a":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"' * 500_000,
        '{"a": "' + "\\" * 1_000_000,
        "{}" * 500_000,
        "{ }" + " " * 5_000_000,
        ('{"a": 1' + " " * 500) * 2_000,
    ],
    ids=lambda reply: f"{reply[:7]}…",
)
def test_no_reply_costs_more_than_a_moment(reply: str) -> None:
    started = time.process_time()
    assert parse_choice(reply) is None
    assert parse_action(reply) is None
    assert time.process_time() - started < SECONDS


def test_a_choice_behind_deep_nesting_is_still_found() -> None:
    assert parse_choice('{"a":' * 40 + CHOICE) == CHOSEN
    assert parse_choice('{"a":' + "[" * 10_000 + "]" * 10_000 + "} " + CHOICE) == CHOSEN


@given(st.text(max_size=200))
def test_any_text_is_a_choice_or_none(reply: str) -> None:
    choice = parse_choice(reply)
    assert choice is None or 0.0 <= choice.confidence <= 1.0
    assert parse_action(reply) is None or "action" in reply


@given(st.dictionaries(st.sampled_from(["lesson_id", "confidence", "action", "instruction", "x"]), JSON), st.text())
def test_any_object_in_any_prose_is_judged_without_an_error(found: dict[str, object], prose: str) -> None:
    reply = f"{prose.replace('{', '(')}{msgspec.json.encode(found).decode()}{prose}"
    choice = parse_choice(reply)
    lesson_id, confidence = found.get("lesson_id"), found.get("confidence")
    if isinstance(lesson_id, str) and lesson_id and isinstance(confidence, int | float) and confidence is not True:
        assert choice is None or choice.lesson_id == lesson_id
    action = parse_action(reply)
    assert action is None or action[1] == found
