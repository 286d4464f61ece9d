"""Applying a match: the lesson's own action, or one that the model puts into words."""

from __future__ import annotations

from typing import Any

import pytest

from application.incorporator.budget import LlmBudget
from application.shared.ports import LlmReply
from domain.errors import LlmUnavailable
from domain.incorporator.match import MatcherName, MatchResult, TokenUsage, matched
from domain.incorporator.outcome import Source
from tests.fakes.clock import START
from tests.fakes.examples import copy, query
from tests.fakes.scripted_llm import Late, Line, ScriptedLlm
from tests.fakes.system import Incorporator
from tests.unit.application.incorporator.replies import chooses, does

PAYLOAD = {"action": "retry_with_backoff", "instruction_template": "Retry {operation} with backoff"}


def match_of(usage: TokenUsage | None = None, **fields: Any) -> MatchResult:
    return matched(copy(**fields), MatcherName.DSL, 1.0, usage=usage)


def applier(*script: Line, problem: str | None = None) -> Incorporator:
    return Incorporator(llm=ScriptedLlm(*script, problem=problem))


async def test_a_lesson_with_an_action_is_applied_without_the_model() -> None:
    of = applier("never said")
    match = match_of(dsl_payload=PAYLOAD)
    outcome = await of.apply(match, query())
    assert (outcome.source, outcome.action) == (Source.DSL, "retry_with_backoff")
    assert outcome.instruction == "Retry upload report.pdf with backoff"
    assert outcome.recommended_action_payload == {"dsl_payload": PAYLOAD}
    assert outcome.match_result is match
    assert outcome.created_at == START
    assert of.llm.prompts == []


async def test_every_outcome_has_an_id_of_its_own() -> None:
    of = applier("never said")
    ids = {(await of.apply(match_of(dsl_payload=PAYLOAD), query())).id for _ in range(3)}
    assert len(ids) == 3


async def test_a_lesson_without_an_action_is_put_into_words_by_the_model() -> None:
    of = applier(LlmReply(text=f"Sure:\n{does()}", input_tokens=5, output_tokens=3))
    outcome = await of.apply(match_of(dsl_payload={"notes": "x"}), query())
    assert (outcome.source, outcome.action, outcome.instruction) == (Source.LLM, "wait", "Wait a minute.")
    assert outcome.recommended_action_payload == {"llm_response": {"action": "wait", "instruction": "Wait a minute."}}
    assert outcome.match_result.usage == TokenUsage(input_tokens=5, output_tokens=3)
    (prompt,) = of.llm.prompts
    assert "Retry uploads" in prompt.user


async def test_the_models_tokens_are_added_to_the_matchers() -> None:
    of = applier(LlmReply(text=does(), input_tokens=5, output_tokens=3))
    outcome = await of.apply(match_of(usage=TokenUsage(input_tokens=100, output_tokens=10)), query())
    assert outcome.match_result.usage == TokenUsage(input_tokens=105, output_tokens=13)


@pytest.mark.parametrize(
    "reply", ["", "Wait a minute.", chooses("l1"), does(action=" "), does(instruction=""), '{"action":' * 5000]
)
async def test_a_reply_that_cannot_be_parsed_gives_the_lessons_title(reply: str) -> None:
    of = applier(reply)
    outcome = await of.apply(match_of(title="Retry uploads"), query())
    assert (outcome.source, outcome.action, outcome.instruction) == (
        Source.LLM,
        "apply_recommended_lesson",
        "Retry uploads",
    )
    assert outcome.recommended_action_payload == {"llm_response": None}
    assert outcome.match_result.usage == TokenUsage(input_tokens=11, output_tokens=7)


@pytest.mark.parametrize("line", [LlmUnavailable("503"), Late(reply=does(), after_s=60)])
async def test_a_model_that_is_away_counts_as_an_unparsable_reply(line: Line) -> None:
    of = applier(line)
    outcome = await of.apply(match_of(title="Retry uploads"), query(), LlmBudget(0.01))
    assert (outcome.action, outcome.instruction) == ("apply_recommended_lesson", "Retry uploads")
    assert outcome.recommended_action_payload == {"llm_response": None}
    assert outcome.match_result.usage is None


async def test_no_key_counts_as_an_unparsable_reply() -> None:
    of = applier("never said", problem="no key")
    outcome = await of.apply(match_of(title="Retry uploads"), query())
    assert (outcome.action, outcome.instruction) == ("apply_recommended_lesson", "Retry uploads")


async def test_a_budget_that_is_used_up_counts_as_an_unparsable_reply() -> None:
    of = applier(does())
    outcome = await of.apply(match_of(), query(), LlmBudget(0.0))
    assert outcome.action == "apply_recommended_lesson"
    assert of.llm.prompts == []


async def test_the_model_has_the_whole_time_where_nobody_used_it_before() -> None:
    of = applier(does())
    await of.apply(match_of(), query())
    assert of.llm.timeouts == [pytest.approx(20.0, abs=0.5)]
