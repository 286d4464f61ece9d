"""The LLM matcher: the ten most similar promoted lessons, and the language model's choice among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from application.incorporator.budget import LlmBudget
from application.incorporator.prompts import match_prompt
from application.learner.search import Found, SearchLessons
from application.shared.ports import Llm, LlmReply
from domain.errors import LlmUnavailable
from domain.incorporator.match import FallbackReason, MatcherName, MatchResult, TokenUsage, matched
from domain.incorporator.query import QueryInput, text_query
from domain.incorporator.reply import parse_choice

CANDIDATES = 10


class LlmMatcher:
    """Where the model's reply cannot be used, the top vector hit is the match, of those that are not below the floor.

    `floors` says how similar a hit must be for each reason. Raises `StoreUnavailable`, `VectorsUnavailable`,
    `EmbedderUnavailable`, `EmbedderMismatch`.
    """

    def __init__(self, *, search: SearchLessons, llm: Llm, floors: Mapping[FallbackReason, float]) -> None:
        self._search = search
        self._llm = llm
        self._floors = floors

    async def candidates(self, query: QueryInput) -> Sequence[Found]:
        """What the model would be offered, most similar first."""
        return (await self._search.most_similar(text_query(query), CANDIDATES)).found

    async def __call__(self, query: QueryInput, budget: LlmBudget) -> MatchResult | None:
        found = await self.candidates(query)
        return await self.choose(query, found, budget) if found else None

    async def choose(self, query: QueryInput, found: Sequence[Found], budget: LlmBudget) -> MatchResult | None:
        """The model's choice among `found` (not empty), or the fallback."""
        try:
            reply = await self._llm.ask(match_prompt(query, [one.copy for one in found]), budget.left())
        except LlmUnavailable:
            return self.fallback(found, FallbackReason.LLM_UNAVAILABLE)
        return self._chosen(reply, found)

    def _chosen(self, reply: LlmReply, found: Sequence[Found]) -> MatchResult | None:
        usage = TokenUsage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
        choice = parse_choice(reply.text)
        if choice is None:
            return self.fallback(found, FallbackReason.UNPARSABLE_REPLY, usage)
        if choice.lesson_id is None:
            return self.fallback(found, FallbackReason.NO_CHOICE, usage)
        for one in found:
            if one.copy.id == choice.lesson_id:
                return matched(one.copy, MatcherName.LLM, choice.confidence, usage=usage)
        return self.fallback(found, FallbackReason.UNKNOWN_LESSON, usage)

    def fallback(
        self, found: Sequence[Found], reason: FallbackReason, usage: TokenUsage | None = None
    ) -> MatchResult | None:
        """The first hit that is not below the floor for this reason, with its similarity as confidence; else None."""
        floor = self._floors[reason]
        top = next((one for one in found if one.hit.similarity >= floor), None)
        return None if top is None else matched(top.copy, MatcherName.LLM, top.hit.similarity, reason, usage)
