"""What a match is, and which of two wins."""

from __future__ import annotations

import msgspec
import pytest

from domain.incorporator.match import (
    EntityType,
    FallbackReason,
    MatcherName,
    MatchResult,
    StrategyMode,
    TokenUsage,
    better,
    matched,
)
from domain.incorporator.outcome import dsl_action, dsl_instruction
from domain.learner.lesson import Bin
from tests.fakes.examples import LESSON_ID, copy, query


def by(matcher: MatcherName, confidence: float) -> MatchResult:
    return matched(copy(), matcher, confidence)


@pytest.mark.parametrize(("bin", "entity"), [(Bin.SKILLS, EntityType.SKILL), (Bin.KNOWLEDGE, EntityType.KNOWLEDGE)])
def test_a_match_names_the_lesson_and_carries_its_copy(bin: Bin, entity: EntityType) -> None:
    of = copy(bin=bin)
    usage = TokenUsage(input_tokens=1, output_tokens=2)
    found = matched(of, MatcherName.LLM, 0.5, FallbackReason.NO_CHOICE, usage)
    assert found == MatchResult(
        matched_entity_type=entity,
        matched_entity_id=LESSON_ID,
        matcher_used=MatcherName.LLM,
        confidence=0.5,
        raw_payload=of,
        fallback_reason=FallbackReason.NO_CHOICE,
        usage=usage,
    )
    assert (by(MatcherName.DSL, 1.0).fallback_reason, by(MatcherName.DSL, 1.0).usage) == (None, None)


def test_a_match_is_written_as_documented() -> None:
    written = msgspec.to_builtins(by(MatcherName.DSL, 1.0))
    assert written["matched_entity_type"] == "skill"
    assert written["matcher_used"] == "dsl"
    assert set(written["raw_payload"]) == {
        "id",
        "bin",
        "title",
        "body",
        "tags",
        "dsl_payload",
        "version",
        "review_round",
        "promoted_at",
    }


def test_the_higher_confidence_wins_and_on_equal_confidence_the_dsl_match() -> None:
    dsl = by(MatcherName.DSL, 0.5)
    assert better(dsl, by(MatcherName.LLM, 0.5)) is dsl
    assert better(dsl, by(MatcherName.LLM, 0.4)) is dsl
    llm = by(MatcherName.LLM, 0.500001)
    assert better(dsl, llm) is llm


def test_the_only_match_wins() -> None:
    one = by(MatcherName.LLM, 0.0)
    assert better(None, one) is one
    assert better(one, None) is one
    assert better(None, None) is None


def test_tokens_add_up() -> None:
    one = TokenUsage(input_tokens=1, output_tokens=2)
    assert one + TokenUsage(input_tokens=10) + TokenUsage() == TokenUsage(input_tokens=11, output_tokens=2)


def test_the_modes_are_named_as_documented() -> None:
    assert {mode.value for mode in StrategyMode} == {
        "dsl_only",
        "llm_only",
        "dsl_then_llm_fallback",
        "llm_then_dsl_fallback",
        "best_of_both",
    }


@pytest.mark.parametrize("action", ["retry", " retry", "a b"])
def test_a_payload_with_an_action_is_carried_out_as_it_is(action: str) -> None:
    assert dsl_action(copy(dsl_payload={"action": action})) == action


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        {"action": ""},
        {"action": " \n"},
        {"action": None},
        {"action": 1},
        {"action": ["retry"]},
        {"Action": "retry"},
    ],
)
def test_a_payload_without_an_action_is_left_to_the_model(payload: dict[str, object] | None) -> None:
    assert dsl_action(copy(dsl_payload=payload)) is None


def test_the_instruction_is_the_filled_template() -> None:
    of = copy(dsl_payload={"action": "retry", "instruction_template": "Retry {operation} with backoff"})
    assert dsl_instruction(of, query()) == "Retry upload report.pdf with backoff"


def test_additional_caller_data_wins_over_the_task_context() -> None:
    of = copy(dsl_payload={"action": "retry", "instruction_template": "{a} {b} {c}"})
    asked = query(current_task_context={"a": 1, "b": 2}, additional_caller_data={"b": 3, "c": 4})
    assert dsl_instruction(of, asked) == "1 3 4"


def test_the_system_state_fills_no_template() -> None:
    of = copy(dsl_payload={"action": "retry", "instruction_template": "{storage}"})
    assert dsl_instruction(of, query(system_state={"storage": "degraded"})) == "{storage}"


@pytest.mark.parametrize("payload", [{"action": "retry"}, {"action": "retry", "instruction_template": 3}, None])
def test_without_a_template_the_instruction_is_the_lessons_title(payload: dict[str, object] | None) -> None:
    assert dsl_instruction(copy(dsl_payload=payload, title="Retry {uploads}"), query()) == "Retry {uploads}"


def test_an_empty_template_is_a_template() -> None:
    assert dsl_instruction(copy(dsl_payload={"action": "retry", "instruction_template": ""}), query()) == ""
