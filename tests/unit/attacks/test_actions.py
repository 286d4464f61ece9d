"""`MG_ALLOWED_ACTIONS`: whatever a lesson or a model says, no other action is ever answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from application.incorporator.apply import Apply
from application.incorporator.explain import ExplainMatch
from domain.errors import InvalidConfiguration
from domain.incorporator.match import MatcherName, StrategyMode, matched
from domain.incorporator.outcome import ANY_ACTION, FALLBACK_ACTION, AllowedActions, ApplierOutcome, Source
from domain.incorporator.rules import DslRule
from domain.learner.lesson import Bin
from entrypoints.settings import Settings
from tests.fakes.clock import FakeClock
from tests.fakes.examples import copy, query
from tests.fakes.scripted_llm import ScriptedLlm
from tests.fakes.system import Incorporator
from tests.unit.attacks.corpus import EVERY_TEXT

ALLOWED = AllowedActions(("retry", "wait"))


async def applied(llm: ScriptedLlm, payload: Any, allowed: AllowedActions = ALLOWED) -> ApplierOutcome:
    apply = Apply(llm=llm, llm_timeout_s=5, clock=FakeClock(), new_id=lambda: "id", allowed=allowed)
    return await apply(matched(copy(title="The title", dsl_payload=payload), MatcherName.DSL, 1.0), query())


def replying(action: object) -> ScriptedLlm:
    return ScriptedLlm(json.dumps({"action": action, "instruction": "Do it."}))


async def test_an_allowed_action_of_a_lesson_is_answered_as_it_is() -> None:
    llm = replying("never asked")
    outcome = await applied(llm, {"action": "retry"})
    assert (outcome.source, outcome.action, llm.prompts) == (Source.DSL, "retry", [])


@pytest.mark.parametrize("action", ["delete_everything", "Retry", "retry ", "retry,wait", "", *EVERY_TEXT])
async def test_an_action_of_a_lesson_that_is_not_allowed_counts_as_none(action: str) -> None:
    outcome = await applied(replying("wait"), {"action": action, "instruction_template": "rm -rf /"})
    assert (outcome.source, outcome.action, outcome.instruction) == (Source.LLM, "wait", "Do it.")


@pytest.mark.parametrize("action", ["delete_everything", "WAIT", " wait", ["wait"], None, *EVERY_TEXT])
async def test_an_action_of_the_model_that_is_not_allowed_counts_as_an_unparsable_reply(action: object) -> None:
    outcome = await applied(replying(action), None)
    assert (outcome.source, outcome.action, outcome.instruction) == (Source.LLM, FALLBACK_ACTION, "The title")
    assert outcome.recommended_action_payload == {"llm_response": None}


async def test_the_model_is_told_what_is_allowed() -> None:
    llm = replying("wait")
    await applied(llm, None)
    [prompt] = llm.prompts
    assert prompt.schema["properties"]["action"] == {  # type: ignore[index]
        "type": "string",
        "enum": ["retry", "wait", FALLBACK_ACTION],
    }
    assert prompt.system.endswith(f"The action must be one of: retry, wait, {FALLBACK_ACTION}.")


async def test_without_a_list_every_action_is_allowed() -> None:
    assert (await applied(replying("x"), {"action": "delete_everything"}, ANY_ACTION)).action == "delete_everything"
    assert (await applied(replying("anything"), None, ANY_ACTION)).action == "anything"


def test_the_list_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().allowed_actions == ANY_ACTION
    monkeypatch.setenv("MG_ALLOWED_ACTIONS", " retry, wait ,")
    assert Settings().allowed_actions == ALLOWED
    monkeypatch.setenv("MG_ALLOWED_ACTIONS", ",")
    with pytest.raises(InvalidConfiguration, match="MG_ALLOWED_ACTIONS"):
        Settings()


@pytest.mark.parametrize(("action", "told"), [("delete_everything", True), ("retry", False)])
async def test_the_dry_run_tells_of_an_action_that_is_not_allowed(action: str, told: bool) -> None:
    of = Incorporator(DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="retry uploads"))
    await of.learner.promoted(title="Retry uploads", body="", dsl_payload={"action": action})
    explain = ExplainMatch(
        mode=StrategyMode.DSL_ONLY,
        dsl_matcher=of.dsl_matcher,
        llm_matcher=of.llm_matcher,
        catalog=of.learner.catalog,
        llm_timeout_s=5,
        allowed=ALLOWED,
    )
    notes = (await explain(query())).notes
    assert any("MG_ALLOWED_ACTIONS" in note for note in notes) == told
