"""The five ways to combine the two matchers."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from application.incorporator.budget import LlmBudget
from application.learner.ports import TextHit
from application.shared.ports import LlmPrompt, LlmReply
from domain.errors import EmbedderMismatch, EmbedderUnavailable, MemoryGridError, StoreUnavailable, VectorsUnavailable
from domain.incorporator.match import FallbackReason, MatcherName, MatchResult, StrategyMode
from domain.incorporator.rules import DslRule
from domain.learner.lesson import Bin, Lesson
from tests.fakes.examples import query
from tests.fakes.scripted_llm import Late, Line, ScriptedLlm
from tests.fakes.system import Incorporator, Learner
from tests.fakes.unsteady import CountingTextIndex, UnsteadyEmbedder
from tests.unit.application.incorporator.replies import chooses

RULE = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="retry uploads")
RULE_WITHOUT_TEXT = DslRule(problem_type="retry downloads", target_bin=Bin.SKILLS, query="uploads retry")
ASKED = query()
UNRULED = query(problem_type="retry downloads", current_task_context={})
LLM_MODES = [mode for mode in StrategyMode if mode is not StrategyMode.DSL_ONLY]
DSL_MODES = [mode for mode in StrategyMode if mode is not StrategyMode.LLM_ONLY]


async def incorporator(
    mode: StrategyMode, *script: Line, rules: tuple[DslRule, ...] = (RULE,)
) -> tuple[Incorporator, Lesson, Lesson]:
    """With the lesson that the rule finds, and the one that the model chooses, unless a script says otherwise."""
    of = Incorporator(*rules, mode=mode, llm=ScriptedLlm(*script))
    by_rule = await of.learner.promoted(title="Retry uploads", body="")
    by_model = await of.learner.promoted(title="Retry downloads", body="", bin=Bin.KNOWLEDGE)
    if not script:
        of.llm.will(chooses(by_model.id))
    return of, by_rule, by_model


def told(found: MatchResult | None) -> tuple[MatcherName, str] | None:
    return (found.matcher_used, found.matched_entity_id) if found else None


async def test_dsl_only_asks_no_model() -> None:
    of, by_rule, _ = await incorporator(StrategyMode.DSL_ONLY)
    assert told(await of.match(ASKED)) == (MatcherName.DSL, by_rule.id)
    assert await of.match(UNRULED) is None
    assert of.llm.prompts == []


async def test_llm_only_applies_no_rule() -> None:
    of, _, by_model = await incorporator(StrategyMode.LLM_ONLY)
    assert told(await of.match(ASKED)) == (MatcherName.LLM, by_model.id)
    assert len(of.llm.prompts) == 1


async def test_dsl_first_asks_the_model_only_where_no_rule_matches() -> None:
    of, by_rule, by_model = await incorporator(StrategyMode.DSL_THEN_LLM)
    assert told(await of.match(ASKED)) == (MatcherName.DSL, by_rule.id)
    assert of.llm.prompts == []
    assert told(await of.match(UNRULED)) == (MatcherName.LLM, by_model.id)
    assert len(of.llm.prompts) == 1


async def test_dsl_first_asks_the_model_where_the_rules_hit_is_too_weak() -> None:
    weak = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="uploads that fail", min_score=1.0)
    of, _, by_model = await incorporator(StrategyMode.DSL_THEN_LLM, rules=(weak,))
    assert told(await of.match(ASKED)) == (MatcherName.LLM, by_model.id)


async def test_llm_first_applies_a_rule_only_where_the_model_finds_nothing() -> None:
    of, by_rule, by_model = await incorporator(StrategyMode.LLM_THEN_DSL)
    assert told(await of.match(ASKED)) == (MatcherName.LLM, by_model.id)
    nothing = Incorporator(
        RULE, mode=StrategyMode.LLM_THEN_DSL, learner=of.learner, llm=ScriptedLlm("x", problem="no key"), floor=1.1
    )
    assert told(await nothing.match(ASKED)) == (MatcherName.DSL, by_rule.id)


async def test_llm_first_takes_the_fallback_before_the_rule() -> None:
    of, _, _ = await incorporator(StrategyMode.LLM_THEN_DSL, "unparsable")
    found = await of.match(ASKED)
    assert found is not None
    assert (found.matcher_used, found.fallback_reason) == (MatcherName.LLM, FallbackReason.UNPARSABLE_REPLY)


@pytest.mark.parametrize(("confidence", "winner"), [(0.99, MatcherName.DSL), (1.0, MatcherName.DSL)])
async def test_best_of_both_keeps_the_dsl_match_on_equal_confidence(confidence: float, winner: MatcherName) -> None:
    of, _, by_model = await incorporator(StrategyMode.BEST_OF_BOTH, "to be replaced")
    of.llm.will(chooses(by_model.id, confidence))
    found = await of.match(ASKED)
    assert found is not None
    assert found.matcher_used is winner


async def test_best_of_both_keeps_the_higher_confidence() -> None:
    similar = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="uploads that fail")
    of, _, by_model = await incorporator(StrategyMode.BEST_OF_BOTH, "to be replaced", rules=(similar,))
    of.llm.will(chooses(by_model.id, 0.95))
    assert told(await of.match(ASKED)) == (MatcherName.LLM, by_model.id)


async def test_best_of_both_takes_the_only_match() -> None:
    of, by_rule, by_model = await incorporator(StrategyMode.BEST_OF_BOTH)
    assert told(await of.match(UNRULED)) == (MatcherName.LLM, by_model.id)
    without = Incorporator(
        RULE, mode=StrategyMode.BEST_OF_BOTH, learner=of.learner, llm=ScriptedLlm("x", problem="no key"), floor=1.1
    )
    assert told(await without.match(ASKED)) == (MatcherName.DSL, by_rule.id)
    assert await without.match(UNRULED) is None


class Meeting:
    """Two who wait for each other."""

    def __init__(self) -> None:
        self._there = 0
        self._both = anyio.Event()

    async def join(self) -> None:
        self._there += 1
        if self._there == 2:
            self._both.set()
        await self._both.wait()


class MeetingLlm(ScriptedLlm):
    def __init__(self, meeting: Meeting) -> None:
        super().__init__("unparsable")
        self._meeting = meeting

    async def ask(self, prompt: LlmPrompt, timeout_s: float) -> LlmReply:
        await self._meeting.join()
        return await super().ask(prompt, timeout_s)


class MeetingTextIndex(CountingTextIndex):
    def __init__(self, meeting: Meeting) -> None:
        super().__init__()
        self._meeting = meeting

    async def containing(self, query: str, bin: Bin | None = None) -> Sequence[TextHit]:
        await self._meeting.join()
        return await super().containing(query, bin)


async def test_best_of_both_asks_both_at_the_same_time() -> None:
    meeting = Meeting()
    of = Incorporator(
        RULE,
        mode=StrategyMode.BEST_OF_BOTH,
        llm=MeetingLlm(meeting),
        learner=Learner(texts=MeetingTextIndex(meeting)),
    )
    await of.learner.promoted(title="Retry uploads", body="")
    with anyio.fail_after(1):
        assert await of.match(ASKED) is not None


@pytest.mark.parametrize("mode", StrategyMode)
async def test_with_no_lesson_there_is_no_match_in_any_mode(mode: StrategyMode) -> None:
    of = Incorporator(RULE, mode=mode)
    assert await of.match(ASKED) is None
    assert of.llm.prompts == []


@pytest.mark.parametrize("mode", DSL_MODES)
async def test_while_the_vectors_are_away_a_rules_text_match_is_still_found(mode: StrategyMode) -> None:
    of, by_rule, _ = await incorporator(mode)
    of.learner.vectors.away = True
    assert told(await of.match(ASKED)) == (MatcherName.DSL, by_rule.id)
    of.learner.vectors.away = False
    of.learner.embedder.away = True
    assert told(await of.match(ASKED)) == (MatcherName.DSL, by_rule.id)


@pytest.mark.parametrize("mode", LLM_MODES)
@pytest.mark.parametrize(("away", "error"), [("vectors", VectorsUnavailable), ("embedder", EmbedderUnavailable)])
async def test_while_the_vectors_are_away_and_no_rule_matches_that_is_no_answer(
    mode: StrategyMode, away: str, error: type[MemoryGridError]
) -> None:
    of, _, _ = await incorporator(mode)
    getattr(of.learner, away).away = True
    with pytest.raises(error):
        await of.match(UNRULED)


@pytest.mark.parametrize("mode", StrategyMode)
async def test_while_the_index_is_another_embedders_a_rules_text_match_is_found_and_nothing_else(
    mode: StrategyMode,
) -> None:
    of, by_rule, _ = await incorporator(mode, rules=(RULE, RULE_WITHOUT_TEXT))
    store, vectors = of.learner.store, of.learner.vectors
    await Learner(store=store, vectors=vectors, embedder=UnsteadyEmbedder("another-v2")).catalog.reindex()
    with pytest.raises(EmbedderMismatch):
        await of.learner.catalog.reconcile()
    if mode in DSL_MODES:
        assert told(await of.match(ASKED)) == (MatcherName.DSL, by_rule.id)
    with pytest.raises(EmbedderMismatch):
        await of.match(UNRULED)


@pytest.mark.parametrize("mode", StrategyMode)
async def test_a_store_that_is_away_is_told_as_it_is(mode: StrategyMode) -> None:
    of, _, _ = await incorporator(mode)
    of.learner.store.away = True
    with pytest.raises(StoreUnavailable):
        await of.match(ASKED)


@pytest.mark.parametrize("mode", LLM_MODES)
async def test_the_model_gets_the_budget_that_the_caller_brings(mode: StrategyMode) -> None:
    of, _, _ = await incorporator(mode)
    await of.match(UNRULED, LlmBudget(3.0))
    assert of.llm.timeouts[0] == pytest.approx(3.0, abs=0.5)
    await of.match(UNRULED)
    assert of.llm.timeouts[1] == pytest.approx(20.0, abs=0.5)


async def test_a_caller_that_gives_up_stops_both_matchers() -> None:
    of, _, _ = await incorporator(StrategyMode.BEST_OF_BOTH, Late(reply="late", after_s=60))
    with anyio.move_on_after(0.02) as patience:
        await of.match(ASKED)
    assert patience.cancelled_caught
