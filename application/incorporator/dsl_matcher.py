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
    """The hits of one problem type's rules, as far as they have been asked for, in the file's order.

    The first who asks looks them up, the others wait for that. `lasts` until a similarity was missing.
    """

    def __init__(self, rules: Sequence[DslRule]) -> None:
        self.turn = anyio.Lock()
        self.hits: list[RuleHit] = []
        self.match: MatchResult | None = None
        self.lasts = True
        self._left = list(reversed(rules))

    def is_known(self, *, every: bool) -> bool:
        """Whether the first match is known, or that there is none; with `every`, whether all hits are."""
        return not self._left or (self.match is not None and not every)

    async def go_on(self, search: SearchLessons) -> None:
        """Looks the next rule up; where that raises, it stays the next one."""
        rule = self._left[-1]
        result = await search(rule.lookup, rule.target_bin, 1)
        self._left.pop()
        self.lasts = self.lasts and result.degraded is None
        for found in result.found:
            hit = _rule_hit(rule, found)
            self.hits.append(hit)
            if self.match is None and hit.excluded is None:
                self.match = hit.match


class DslMatcher:
    """Tries the rules of the query's problem type in the file's order; the first that yields a match wins.

    A rule is looked up where those before it yield none, once per edition of the catalog, and remembered, unless
    similarities were missing then.
    Raises `StoreUnavailable`, `EmbedderMismatch`.
    """

    def __init__(self, *, rules: Rules, search: SearchLessons, catalog: Catalog) -> None:
        self._rules = rules
        self._search = search
        self._catalog = catalog
        self._known: dict[str, _LookUp] = {}
        self._known_for: tuple[int, RuleSet | None] = (-1, None)

    async def __call__(self, query: QueryInput) -> MatchResult | None:
        found = await self._looked_up(query.problem_type, every=False)
        return None if found is None else found.match

    def has_rule(self, problem_type: str) -> bool:
        """Whether any rule is for this problem type."""
        return bool(self._rules.current().of(problem_type))

    async def hits(self, problem_type: str) -> Sequence[RuleHit]:
        """The top hit of each rule of this problem type that has one, in the file's order."""
        found = await self._looked_up(problem_type, every=True)
        return () if found is None else tuple(found.hits)

    async def _looked_up(self, problem_type: str, *, every: bool) -> _LookUp | None:
        """None where there is no rule."""
        rules = self._rules.current()
        now = (await self._catalog.refresh(), rules)
        if now != self._known_for:
            self._known, self._known_for = {}, now
        of_type = rules.of(problem_type)
        if not of_type:
            return None
        known = self._known
        one = known.get(problem_type)
        if one is None:
            one = known[problem_type] = _LookUp(of_type)
        if not one.is_known(every=every):
            try:
                async with one.turn:
                    while not one.is_known(every=every):
                        await one.go_on(self._search)
            finally:
                if not one.lasts and known.get(problem_type) is one:
                    del known[problem_type]
        return one


def _rule_hit(rule: DslRule, found: Found) -> RuleHit:
    score = found.hit.score
    return RuleHit(
        rule=rule,
        found=found,
        excluded="below_min_score" if score < rule.min_score else None,
        match=matched(found.copy, MatcherName.DSL, score),
    )
