"""What matching needs from the outside beside the Learner's search."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from domain.incorporator.rules import RuleSet


class Rules(Protocol):
    """The DSL rules in force."""

    @abstractmethod
    def current(self) -> RuleSet:
        """The rules as of the last good reading of their file; the same object while nothing changed."""

    @abstractmethod
    def problem(self) -> str | None:
        """Why the file as it stands now is not in force, or None where it is."""


class Misses(Protocol):
    @abstractmethod
    def note(self, problem_type: str) -> None:
        """Remembers that this problem found no match; stored later, off the request's path."""
