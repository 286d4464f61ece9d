"""The dry run: what would be matched, and why. It records nothing."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from application.incorporator.budget import LlmBudget
from application.incorporator.dsl_matcher import DslMatcher, RuleHit
from application.incorporator.llm_matcher import LlmMatcher
from application.learner.catalog import Catalog
from application.learner.search import Found
from domain.errors import EmbedderMismatch, EmbedderUnavailable, VectorsUnavailable
from domain.incorporator.match import FallbackReason, MatcherName, MatchResult, StrategyMode, better, matched
from domain.incorporator.outcome import ANY_ACTION, AllowedActions, dsl_action
from domain.incorporator.query import QueryInput
from domain.incorporator.rules import DslRule
from domain.learner.lesson import Bin


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson that was looked at. `excluded` is null or the reason (`below_min_score`)."""

    lesson_id: str
    bin: Bin
    title: str
    score: float
    similarity: float
    text_match: bool
    excluded: str | None = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """`rule` is the DSL rule that applied; `candidates` are best first: the rule's hit, then the ten most similar."""

    match: MatchResult | None
    rule: DslRule | None
    candidates: Sequence[Candidate]
    notes: Sequence[str]


class ExplainMatch:
    """Answers what an invoke would match. The language model is asked only `with_llm`. Raises `StoreUnavailable`."""

    def __init__(
        self,
        *,
        mode: StrategyMode,
        dsl_matcher: DslMatcher,
        llm_matcher: LlmMatcher,
        catalog: Catalog,
        llm_timeout_s: float,
        allowed: AllowedActions = ANY_ACTION,
    ) -> None:
        self._mode = mode
        self._dsl = dsl_matcher
        self._llm = llm_matcher
        self._catalog = catalog
        self._llm_timeout_s = llm_timeout_s
        self._allowed = allowed

    async def __call__(self, query: QueryInput, *, with_llm: bool = False) -> Explanation:
        budget = LlmBudget(self._llm_timeout_s) if with_llm else None
        while True:
            told = await self._explained(query, budget)
            if told.match is None or budget is None or await self._catalog.still_has(told.match.raw_payload):
                return told

    async def _explained(self, query: QueryInput, budget: LlmBudget | None) -> Explanation:
        notes: list[str] = []
        hits: Sequence[RuleHit] = ()
        if self._mode is not StrategyMode.LLM_ONLY:
            hits = await self._dsl.hits(query.problem_type)
            if not self._dsl.has_rule(query.problem_type):
                notes.append(f"there is no DSL rule for problem_type {query.problem_type!r}")
            elif not hits:
                notes.append(f"no DSL rule for problem_type {query.problem_type!r} found a lesson in its bin")
        found = await self._similar(query, notes)
        applied = next((hit for hit in hits if hit.excluded is None), None)
        by_dsl = applied.match if applied else None
        match = await self._decided(query, by_dsl, found, budget, notes)
        if match is not None and dsl_action(match.raw_payload) != dsl_action(match.raw_payload, self._allowed):
            notes.append(
                "the lesson's action is not among MG_ALLOWED_ACTIONS: an invoke asks the model for one that is"
            )
        return Explanation(
            match=match,
            rule=applied.rule if applied else None,
            candidates=_candidates(hits, found),
            notes=notes,
        )

    async def _similar(self, query: QueryInput, notes: list[str]) -> Sequence[Found]:
        if self._mode is StrategyMode.DSL_ONLY:
            notes.append("the mode is dsl_only: an invoke does not look at the similar lessons")
        try:
            return await self._llm.candidates(query)
        except (VectorsUnavailable, EmbedderUnavailable, EmbedderMismatch) as error:
            notes.append(f"no similar lessons: {error.detail}")
            return ()

    async def _decided(
        self,
        query: QueryInput,
        dsl: MatchResult | None,
        found: Sequence[Found],
        budget: LlmBudget | None,
        notes: list[str],
    ) -> MatchResult | None:
        """As `Match` decides; without a budget the model is not asked, and the top hit stands in its place."""
        if self._mode is StrategyMode.DSL_ONLY or (self._mode is StrategyMode.DSL_THEN_LLM and dsl is not None):
            return dsl
        if not found:
            return dsl
        if budget is not None:
            llm = await self._llm.choose(query, found, budget)
        else:
            notes.append("the language model was not asked (add ?llm=true): the top hit stands in for its choice")
            llm = matched(found[0].copy, MatcherName.LLM, found[0].hit.similarity)
            notes += _without_model(llm, self._llm.fallback(found, FallbackReason.LLM_UNAVAILABLE), dsl)
        return better(dsl, llm) if self._mode is StrategyMode.BEST_OF_BOTH else llm or dsl


def _without_model(top: MatchResult, fallback: MatchResult | None, dsl: MatchResult | None) -> list[str]:
    """What an invoke without a model would do, where that is not to take the top hit."""
    if fallback is not None and fallback.matched_entity_id == top.matched_entity_id:
        return []
    if fallback is not None:
        instead = f"take lesson {fallback.matched_entity_id}"
    else:
        instead = "answer no match" if dsl is None else "take the rule's hit"
    return [f"the top hit is below the floor: an invoke without a model would {instead}"]


def _candidates(hits: Sequence[RuleHit], found: Sequence[Found]) -> list[Candidate]:
    seen: dict[str, Candidate] = {}
    for hit in hits:
        seen.setdefault(hit.found.hit.lesson_id, _candidate(hit.found, hit.excluded))
    for one in found:
        seen.setdefault(one.hit.lesson_id, _candidate(one, None))
    return list(seen.values())


def _candidate(found: Found, excluded: str | None) -> Candidate:
    hit = found.hit
    return Candidate(
        lesson_id=hit.lesson_id,
        bin=hit.bin,
        title=hit.title,
        score=hit.score,
        similarity=hit.similarity,
        text_match=hit.text_match,
        excluded=excluded,
    )
