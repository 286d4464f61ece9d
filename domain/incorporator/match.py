"""What a match is, and which of two wins."""

from __future__ import annotations

from enum import Enum

import msgspec

from domain.learner.lesson import Bin, PromotedLesson


class StrategyMode(str, Enum):
    """How the two matchers are combined (`MG_MATCH_STRATEGY_MODE`)."""

    DSL_ONLY = "dsl_only"
    LLM_ONLY = "llm_only"
    DSL_THEN_LLM = "dsl_then_llm_fallback"
    LLM_THEN_DSL = "llm_then_dsl_fallback"
    BEST_OF_BOTH = "best_of_both"


class MatcherName(str, Enum):
    DSL = "dsl"
    LLM = "llm"


class EntityType(str, Enum):
    SKILL = "skill"
    KNOWLEDGE = "knowledge"


class FallbackReason(str, Enum):
    """Why the top vector hit was taken instead of the model's choice."""

    UNPARSABLE_REPLY = "unparsable_reply"
    NO_CHOICE = "no_choice"
    UNKNOWN_LESSON = "unknown_lesson"
    LLM_UNAVAILABLE = "llm_unavailable"


class TokenUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens that the model calls of one invoke cost."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens, output_tokens=self.output_tokens + other.output_tokens
        )


class MatchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The lesson that applies. `confidence` is in [0, 1]; `raw_payload` is the promoted copy.

    `fallback_reason` says why the language model's choice was not used, where it was asked and was not.
    `usage` counts the tokens of this invoke's model calls; None where no model was asked.
    """

    matched_entity_type: EntityType
    matched_entity_id: str
    matcher_used: MatcherName
    confidence: float
    raw_payload: PromotedLesson
    fallback_reason: FallbackReason | None = None
    usage: TokenUsage | None = None


_ENTITY = {Bin.SKILLS: EntityType.SKILL, Bin.KNOWLEDGE: EntityType.KNOWLEDGE}


def matched(
    copy: PromotedLesson,
    matcher: MatcherName,
    confidence: float,
    fallback_reason: FallbackReason | None = None,
    usage: TokenUsage | None = None,
) -> MatchResult:
    """The match of a promoted copy."""
    return MatchResult(
        matched_entity_type=_ENTITY[copy.bin],
        matched_entity_id=copy.id,
        matcher_used=matcher,
        confidence=confidence,
        raw_payload=copy,
        fallback_reason=fallback_reason,
        usage=usage,
    )


def better(dsl: MatchResult | None, llm: MatchResult | None) -> MatchResult | None:
    """`best_of_both`: the higher confidence; on equal confidence the DSL match."""
    if dsl is None or llm is None:
        return dsl or llm
    return llm if llm.confidence > dsl.confidence else dsl
