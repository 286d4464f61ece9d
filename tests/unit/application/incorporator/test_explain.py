"""The dry run: what would be matched, and why."""

from __future__ import annotations

import pytest

from application.feedback.ports import EntryFilter
from domain.errors import StoreUnavailable
from domain.incorporator.match import FallbackReason, MatcherName, StrategyMode
from domain.incorporator.rules import DslRule
from domain.learner.lesson import Bin
from tests.fakes.examples import query
from tests.fakes.scripted_llm import ScriptedLlm
from tests.fakes.system import Incorporator
from tests.unit.application.incorporator.replies import chooses

RULE = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="retry uploads")
WEAK = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="tiers of pricing", min_score=1.0)
ASKED = query()
UNRULED = query(problem_type="retry downloads", current_task_context={})


async def incorporator(mode: StrategyMode = StrategyMode.DSL_THEN_LLM, *rules: DslRule) -> Incorporator:
    of = Incorporator(*(rules or (RULE,)), mode=mode, llm=ScriptedLlm("unparsable"))
    for title in ("Pricing tiers", "Retry downloads", "Retry uploads"):
        await of.learner.promoted(title=title, body="")
    return of


async def test_the_rule_that_applied_and_its_match_are_told() -> None:
    of = await incorporator()
    told = await of.explain(ASKED)
    assert told.rule == RULE
    assert told.match == await of.match(ASKED)
    assert told.match is not None
    assert (told.match.matcher_used, told.match.raw_payload.title) == (MatcherName.DSL, "Retry uploads")


async def test_candidates_are_the_rules_hit_and_then_the_similar_ones_none_of_them_twice() -> None:
    of = await incorporator()
    for n in range(12):
        await of.learner.promoted(title=f"Flaky upload operation report {n}", body="")
    told = await of.explain(ASKED)
    ids = [one.lesson_id for one in told.candidates]
    assert told.candidates[0].title == "Retry uploads"
    assert (told.candidates[0].score, told.candidates[0].text_match) == (1.0, True)
    assert len(ids) == len(set(ids)) == 11
    offered = [found.copy.id for found in await of.llm_matcher.candidates(ASKED)]
    assert ids[1:] == offered


async def test_a_hit_below_the_rules_min_score_is_shown_as_excluded() -> None:
    of = await incorporator(StrategyMode.DSL_THEN_LLM, WEAK)
    told = await of.explain(ASKED)
    assert told.rule is None
    assert (told.candidates[0].title, told.candidates[0].excluded) == ("Pricing tiers", "below_min_score")
    assert all(one.excluded is None for one in told.candidates[1:])


async def test_without_the_model_the_top_hit_stands_in_for_its_choice_and_a_note_says_so() -> None:
    of = await incorporator()
    told = await of.explain(UNRULED)
    assert told.match is not None
    assert (told.match.raw_payload.title, told.match.fallback_reason) == ("Retry downloads", None)
    assert told.match.matcher_used is MatcherName.LLM
    assert any("not asked" in note for note in told.notes)
    assert f"there is no DSL rule for problem_type {UNRULED.problem_type!r}" in told.notes
    assert of.llm.prompts == []
    assert not any("below the floor" in note for note in told.notes)


async def test_a_top_hit_that_an_invoke_without_a_model_would_not_take_is_told() -> None:
    of = Incorporator(RULE, floor=0.99, llm=ScriptedLlm(problem="no key"))
    await of.learner.promoted(title="Retry downloads", body="")
    told = await of.explain(query(problem_type="retry the kettle", current_task_context={}))
    assert told.match is not None
    assert "the top hit is below the floor: an invoke without a model would answer no match" in told.notes
    assert await of.match(query(problem_type="retry the kettle", current_task_context={})) is None


async def test_where_a_rule_has_a_hit_that_is_what_an_invoke_without_a_model_would_take() -> None:
    of = Incorporator(RULE, mode=StrategyMode.BEST_OF_BOTH, floor=2.0, llm=ScriptedLlm(problem="no key"))
    await of.learner.promoted()
    told = await of.explain(query(problem_type="flaky_upload"))
    assert "the top hit is below the floor: an invoke without a model would take the rule's hit" in told.notes
    taken = await of.match(query(problem_type="flaky_upload"))
    assert taken is not None
    assert taken.matcher_used is MatcherName.DSL


async def test_with_the_model_its_choice_is_told() -> None:
    of = await incorporator()
    chosen = (await of.learner.search("pricing", None, 1)).found[0].copy
    of.llm.will(chooses(chosen.id, 0.4))
    told = await of.explain(UNRULED, with_llm=True)
    assert told.match is not None
    assert (told.match.matched_entity_id, told.match.confidence) == (chosen.id, 0.4)
    assert not any("not asked" in note for note in told.notes)
    of.llm.will("unparsable")
    told = await of.explain(UNRULED, with_llm=True)
    assert told.match is not None
    assert told.match.fallback_reason is FallbackReason.UNPARSABLE_REPLY


@pytest.mark.parametrize("mode", StrategyMode)
async def test_with_the_model_it_tells_what_an_invoke_would_match(mode: StrategyMode) -> None:
    for script in ("unparsable", chooses(None), chooses("unknown")):
        of = await incorporator(mode)
        of.llm.will(script)
        for asked in (ASKED, UNRULED):
            assert (await of.explain(asked, with_llm=True)).match == await of.match(asked)


async def test_dsl_only_shows_the_similar_lessons_and_says_that_they_do_not_count() -> None:
    of = await incorporator(StrategyMode.DSL_ONLY)
    told = await of.explain(UNRULED, with_llm=True)
    assert (told.match, told.rule) == (None, None)
    assert len(told.candidates) == 3
    assert any("dsl_only" in note for note in told.notes)
    assert of.llm.prompts == []


async def test_llm_only_looks_at_no_rule() -> None:
    of = await incorporator(StrategyMode.LLM_ONLY)
    told = await of.explain(ASKED)
    assert told.rule is None
    assert of.learner.texts.calls["containing"] == 0


async def test_best_of_both_tells_the_better_one() -> None:
    of = await incorporator(StrategyMode.BEST_OF_BOTH)
    told = await of.explain(ASKED)
    assert told.match is not None
    assert told.match.matcher_used is MatcherName.DSL


async def test_while_the_vectors_are_away_a_note_says_so() -> None:
    of = await incorporator()
    of.learner.vectors.away = True
    told = await of.explain(ASKED)
    assert told.match is not None
    assert [one.title for one in told.candidates] == ["Retry uploads"]
    assert any("the fake vector index is away" in note for note in told.notes)
    assert (await of.explain(UNRULED)).match is None


async def test_nothing_to_match_is_told_too() -> None:
    told = await Incorporator(RULE).explain(ASKED)
    assert (told.match, told.rule, list(told.candidates)) == (None, None, [])


async def test_nothing_is_recorded() -> None:
    of = await incorporator()
    await of.explain(ASKED, with_llm=True)
    await of.explain(UNRULED, with_llm=True)
    assert not (await of.store.page(EntryFilter(), 10, None)).entries
    assert of.misses.noted == []


async def test_a_store_that_is_away_is_an_error() -> None:
    of = await incorporator()
    of.learner.store.away = True
    with pytest.raises(StoreUnavailable):
        await of.explain(ASKED)
