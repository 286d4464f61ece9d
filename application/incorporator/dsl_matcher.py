"""The DSL matcher: deterministic, no language model. Its answer depends on the rule and on the bin's content only."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import msgspec

from application.incorporator.ports import Rules
from application.learner.catalog import Catalog
from application.learner.search import Found, SearchLessons
from domain.incorporator.match import MatcherName, MatchResult, matched
from domain.incorporator.query import QueryInput
from domain.incorporator.rules import DslRule, RuleSet


class RuleHit(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's top hit, with the reason why it is left out, if it is."""

    rule: DslRule
    found: Found
    excluded: str | None
    match: MatchResult


class _LookUp:
    """The hits of one problem type's rules: the first who asks looks them up, the others wait for that."""

    def __init__(self) -> None:
        self.turn = anyio.Lock()
        self.hits: tuple[RuleHit, ...] | None = None


class DslMatcher:
    """Tries the rules of the query's problem type in the file's order; the first that yields a match wins.

    A rule is looked up once per edition of the catalog and remembered, unless similarities were missing then.
    Raises `StoreUnavailable`, `EmbedderMismatch`.
    """

    def __init__(self, *, rules: Rules, search: SearchLessons, catalog: Catalog) -> None:
        self._rules = rules
        self._search = search
        self._catalog = catalog
        self._known: dict[str, _LookUp] = {}
        self._known_for: tuple[int, RuleSet | None] = (-1, None)

    async def __call__(self, query: QueryInput) -> MatchResult | None:
        for hit in await self.hits(query.problem_type):
            if hit.excluded is None:
                return hit.match
        return None

    async def hits(self, problem_type: str) -> tuple[RuleHit, ...]:
        """The top hit of each rule of this problem type that has one, in the file's order."""
        rules = self._rules.current()
        now = (await self._catalog.refresh(), rules)
        if now != self._known_for:
            self._known, self._known_for = {}, now
        of_type = rules.of(problem_type)
        if not of_type:
            return ()
        known = self._known
        one = known.get(problem_type)
        if one is None:
            one = known[problem_type] = _LookUp()
        if one.hits is None:
            async with one.turn:
                if one.hits is None:
                    one.hits, lasts = await self._look_up(of_type)
                    if not lasts:
                        del known[problem_type]
        return one.hits

    async def _look_up(self, rules: Sequence[DslRule]) -> tuple[tuple[RuleHit, ...], bool]:
        """The hits, and whether they last: no similarity was missing."""
        hits: list[RuleHit] = []
        lasts = True
        for rule in rules:
            result = await self._search(rule.lookup, rule.target_bin, 1)
            lasts = lasts and result.degraded is None
            hits.extend(_rule_hit(rule, found) for found in result.found)
        return tuple(hits), lasts


def _rule_hit(rule: DslRule, found: Found) -> RuleHit:
    score = found.hit.score
    return RuleHit(
        rule=rule,
        found=found,
        excluded="below_min_score" if score < rule.min_score else None,
        match=matched(found.copy, MatcherName.DSL, score),
    )
