"""The DSL matcher: deterministic, and looked up once for each edition of the catalog."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from application.incorporator.dsl_matcher import DslMatcher
from application.learner.ports import TextHit
from application.learner.search import SearchLessons, SearchResult
from domain.errors import EmbedderMismatch, StoreUnavailable
from domain.incorporator.match import EntityType, MatcherName, StrategyMode
from domain.incorporator.rules import DslRule
from domain.learner.lesson import Bin, Decision
from tests.fakes.examples import query
from tests.fakes.system import Incorporator, Learner
from tests.fakes.together import all_of
from tests.fakes.unsteady import CountingTextIndex

RULE = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="retry uploads")
ASKED = query()


class Stalling(CountingTextIndex):
    """Once it is armed, it holds the next look-up back until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.armed = False
        self.stalled = anyio.Event()
        self.go = anyio.Event()

    async def containing(self, query: str, bin: Bin | None = None) -> Sequence[TextHit]:
        found = await super().containing(query, bin)
        if self.armed:
            self.armed = False
            self.stalled.set()
            await self.go.wait()
        return found


class Failing(CountingTextIndex):
    """Fails for one bin."""

    fails: Bin | None = None

    async def containing(self, query: str, bin: Bin | None = None) -> Sequence[TextHit]:
        if self.fails is not None and bin is self.fails:
            raise StoreUnavailable("the text index is away")
        return await super().containing(query, bin)


async def incorporator(*rules: DslRule, texts: CountingTextIndex | None = None) -> Incorporator:
    """With one skill that the rule finds."""
    made = Incorporator(*rules, mode=StrategyMode.DSL_ONLY, learner=Learner(texts=texts))
    await made.learner.promoted(title="Retry uploads")
    return made


def look_ups(of: Incorporator) -> tuple[int, int]:
    return of.learner.texts.calls["containing"], of.learner.vectors.calls["nearest"]


async def test_the_rules_top_hit_is_the_match() -> None:
    of = await incorporator(RULE)
    found = await of.dsl_matcher(ASKED)
    assert found is not None
    assert (found.matched_entity_type, found.matcher_used, found.confidence) == (
        EntityType.SKILL,
        MatcherName.DSL,
        1.0,
    )
    assert found.raw_payload.title == "Retry uploads"
    assert found.matched_entity_id == found.raw_payload.id
    assert (found.fallback_reason, found.usage) == (None, None)


async def test_a_hit_by_similarity_has_its_score_as_confidence() -> None:
    of = await incorporator(DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="uploads that fail"))
    found = await of.dsl_matcher(ASKED)
    assert found is not None
    assert 0 < found.confidence < 1


async def test_a_problem_type_without_a_rule_has_no_match_and_costs_no_look_up() -> None:
    of = await incorporator(RULE)
    before = look_ups(of)
    for problem_type in ("another", "Flaky_Upload", "flaky_upload "):
        assert await of.dsl_matcher(query(problem_type=problem_type)) is None
    assert look_ups(of) == before


async def test_a_rule_without_a_query_looks_for_the_problem_type() -> None:
    of = Incorporator(DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS))
    after = await of.learner.promoted(title="When there is a flaky_upload")
    found = await of.dsl_matcher(ASKED)
    assert found is not None
    assert (found.matched_entity_id, found.confidence) == (after.id, 1.0)


async def test_only_the_rules_bin_is_searched() -> None:
    of = Incorporator(DslRule(problem_type="flaky_upload", target_bin=Bin.KNOWLEDGE, query="retry uploads"))
    await of.learner.promoted(title="Retry uploads")
    assert await of.dsl_matcher(ASKED) is None
    known = await of.learner.promoted(title="Retry uploads", bin=Bin.KNOWLEDGE)
    found = await of.dsl_matcher(ASKED)
    assert found is not None
    assert (found.matched_entity_id, found.matched_entity_type) == (known.id, EntityType.KNOWLEDGE)


async def test_a_hit_below_the_rules_min_score_is_ignored() -> None:
    weak = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="uploads that fail", min_score=0.9)
    of = await incorporator(weak)
    assert await of.dsl_matcher(ASKED) is None
    (hit,) = await of.dsl_matcher.hits("flaky_upload")
    assert hit.excluded == "below_min_score"
    assert hit.found.hit.score < 0.9


async def test_a_hit_at_the_rules_min_score_counts() -> None:
    of = await incorporator(
        DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="retry uploads", min_score=1.0)
    )
    assert await of.dsl_matcher(ASKED) is not None


async def test_the_first_rule_that_yields_a_match_wins() -> None:
    nothing = DslRule(problem_type="flaky_upload", target_bin=Bin.KNOWLEDGE, query="retry uploads")
    too_weak = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="uploads that fail", min_score=0.99)
    last = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="pricing")
    of = await incorporator(nothing, too_weak, RULE, last)
    await of.learner.promoted(title="Pricing tiers")
    found = await of.dsl_matcher(ASKED)
    assert found is not None
    assert found.raw_payload.title == "Retry uploads"
    assert [hit.rule for hit in await of.dsl_matcher.hits("flaky_upload")] == [too_weak, RULE, last]


async def test_a_thousand_invokes_on_one_edition_make_one_look_up() -> None:
    of = await incorporator(RULE)
    before = look_ups(of)
    first = await of.dsl_matcher(ASKED)
    for _ in range(999):
        assert await of.dsl_matcher(ASKED) is first
    assert look_ups(of) == (before[0] + 1, before[1] + 1)


async def test_a_thousand_invokes_side_by_side_make_one_look_up() -> None:
    of = await incorporator(RULE)
    before = look_ups(of)
    found = await all_of(*(of.dsl_matcher(ASKED) for _ in range(1000)))
    assert found[0] is not None
    assert {id(one) for one in found} == {id(found[0])}
    assert look_ups(of) == (before[0] + 1, before[1] + 1)


async def test_that_a_rule_finds_nothing_is_remembered_too() -> None:
    of = Incorporator(RULE)
    for _ in range(10):
        assert await of.dsl_matcher(ASKED) is None
    await all_of(*(of.dsl_matcher(ASKED) for _ in range(10)))
    assert look_ups(of) == (1, 1)


async def test_a_new_promotion_is_looked_up_anew() -> None:
    of = await incorporator(RULE)
    first = await of.dsl_matcher(ASKED)
    newer = await of.learner.promoted(title="Retry uploads")
    second = await of.dsl_matcher(ASKED)
    assert first is not None
    assert second is not None
    assert second.matched_entity_id == newer.id != first.matched_entity_id


async def test_a_disabled_lesson_does_not_match_any_more() -> None:
    of = await incorporator(RULE)
    found = await of.dsl_matcher(ASKED)
    assert found is not None
    await of.learner.decided(await of.learner.store.get(found.matched_entity_id), Decision.DISABLE)
    assert await of.dsl_matcher(ASKED) is None


async def test_changed_rules_are_looked_up_anew() -> None:
    of = await incorporator(RULE)
    assert await of.dsl_matcher(ASKED) is not None
    of.rules.will_be(DslRule(problem_type="another", target_bin=Bin.SKILLS, query="retry uploads"))
    assert await of.dsl_matcher(ASKED) is None
    assert await of.dsl_matcher(query(problem_type="another")) is not None


async def test_rules_that_change_during_a_look_up_are_not_answered_with_the_old_ones() -> None:
    stalling = Stalling()
    of = await incorporator(RULE, texts=stalling)
    await of.learner.promoted(title="Pricing tiers", bin=Bin.KNOWLEDGE)
    stalling.armed = True
    async with anyio.create_task_group() as group:
        group.start_soon(of.dsl_matcher, ASKED)
        await stalling.stalled.wait()
        group.start_soon(of.dsl_matcher, ASKED)
        of.rules.will_be(DslRule(problem_type="flaky_upload", target_bin=Bin.KNOWLEDGE, query="pricing"))
        group.start_soon(of.dsl_matcher, ASKED)
        await anyio.sleep(0.01)
        stalling.go.set()
    found = await of.dsl_matcher(ASKED)
    assert found is not None
    assert found.raw_payload.title == "Pricing tiers"


async def test_one_problem_types_look_up_does_not_hold_up_another() -> None:
    stalling = Stalling()
    another = DslRule(problem_type="another", target_bin=Bin.SKILLS, query="retry")
    of = await incorporator(RULE, another, texts=stalling)
    stalling.armed = True
    async with anyio.create_task_group() as group:
        group.start_soon(of.dsl_matcher, ASKED)
        await stalling.stalled.wait()
        with anyio.fail_after(1):
            assert await of.dsl_matcher(query(problem_type="another")) is not None
        stalling.go.set()


async def test_while_the_index_is_away_text_matches_count_and_nothing_is_remembered() -> None:
    of = await incorporator(RULE, DslRule(problem_type="similar", target_bin=Bin.SKILLS, query="uploads that fail"))
    of.learner.vectors.away = True
    found = await of.dsl_matcher(ASKED)
    assert found is not None
    assert found.confidence == 1.0
    assert await of.dsl_matcher(query(problem_type="similar")) is None
    of.learner.vectors.away = False
    assert await of.dsl_matcher(query(problem_type="similar")) is not None


async def test_what_was_found_without_similarities_is_not_remembered_where_a_later_rule_fails() -> None:
    first = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="uploads that fail")
    later = DslRule(problem_type="flaky_upload", target_bin=Bin.KNOWLEDGE, query="pricing")
    texts = Failing()
    of = await incorporator(first, later, texts=texts)
    of.learner.vectors.away, texts.fails = True, Bin.KNOWLEDGE
    with pytest.raises(StoreUnavailable):
        await of.dsl_matcher(ASKED)
    of.learner.vectors.away, texts.fails = False, None
    assert await of.dsl_matcher(ASKED) is not None


async def test_those_who_wait_for_a_look_up_take_what_it_found_even_without_similarities() -> None:
    of = await incorporator(RULE)
    of.learner.embedder.away = True
    before = look_ups(of)
    found = await all_of(*(of.dsl_matcher(ASKED) for _ in range(50)))
    assert all(found)
    assert look_ups(of) == (before[0] + 1, before[1])


async def test_a_match_by_similarity_that_came_late_to_the_index_is_found() -> None:
    of = Incorporator(DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="uploads that fail"))
    of.learner.vectors.fails = {"apply"}
    await of.learner.promoted(title="Retry uploads")
    assert await of.dsl_matcher(ASKED) is None
    of.learner.vectors.fails = set()
    await of.learner.catalog.reconcile()
    assert await of.dsl_matcher(ASKED) is not None


async def test_who_gives_up_waiting_leaves_the_look_up_to_the_next() -> None:
    stalling = Stalling()
    of = await incorporator(RULE, texts=stalling)
    stalling.armed = True
    with anyio.move_on_after(0.01):
        await of.dsl_matcher(ASKED)
    assert await of.dsl_matcher(ASKED) is not None


async def test_a_store_that_is_away_is_an_error() -> None:
    of = await incorporator(RULE)
    of.learner.store.away = True
    with pytest.raises(StoreUnavailable):
        await of.dsl_matcher(ASKED)
    of.learner.store.away = False
    assert await of.dsl_matcher(ASKED) is not None


async def test_rules_behind_the_first_that_yields_a_match_are_not_looked_up() -> None:
    behind = DslRule(problem_type="flaky_upload", target_bin=Bin.KNOWLEDGE, query="pricing")
    of = await incorporator(RULE, behind)
    before, _ = look_ups(of)
    for _ in range(2):
        found = await of.dsl_matcher(ASKED)
        assert found is not None
        assert found.raw_payload.title == "Retry uploads"
    assert look_ups(of)[0] == before + 1
    assert len(await of.dsl_matcher.hits("flaky_upload")) == 1
    assert look_ups(of)[0] == before + 2
    await of.dsl_matcher.hits("flaky_upload")
    assert look_ups(of)[0] == before + 2


async def test_a_rule_that_cannot_be_looked_up_hinders_no_rule_before_it() -> None:
    class Mismatched(SearchLessons):
        async def __call__(self, query: str, bin: Bin | None, limit: int) -> SearchResult:
            if bin is Bin.KNOWLEDGE:
                raise EmbedderMismatch("the vectors are another embedder's")
            return await super().__call__(query, bin, limit)

    behind = DslRule(problem_type="flaky_upload", target_bin=Bin.KNOWLEDGE, query="pricing")
    of = await incorporator(RULE, behind)
    learner = of.learner
    search = Mismatched(
        catalog=learner.catalog,
        store=learner.store,
        vectors=learner.vectors,
        texts=learner.texts,
        embedder=learner.embedder,
    )
    matcher = DslMatcher(rules=of.rules, search=search, catalog=learner.catalog)
    assert await matcher(ASKED) is not None
    with pytest.raises(EmbedderMismatch):
        await matcher.hits("flaky_upload")
    assert await matcher(ASKED) is not None
