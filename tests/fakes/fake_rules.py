"""The DSL rules as a test sets them."""

from __future__ import annotations

from application.incorporator.ports import Rules
from domain.incorporator.rules import DslRule, RuleSet


class FakeRules(Rules):
    def __init__(self, *rules: DslRule) -> None:
        self._current = RuleSet(rules)

    def will_be(self, *rules: DslRule) -> None:
        """From now on, these are in force, as after a change of their file."""
        self._current = RuleSet(rules)

    def current(self) -> RuleSet:
        return self._current

    def problem(self) -> str | None:
        return None
