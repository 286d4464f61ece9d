"""What is asked, matched and answered, as users import it."""

from domain.incorporator.match import MatchResult
from domain.incorporator.outcome import ApplierOutcome
from domain.incorporator.query import QueryInput

__all__ = ["ApplierOutcome", "MatchResult", "QueryInput"]
