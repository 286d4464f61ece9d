"""Applying a match: the lesson's own action, or one that the language model puts into words."""

from __future__ import annotations

import msgspec

from application.incorporator.budget import LlmBudget
from application.incorporator.prompts import apply_prompt
from application.shared.ports import Clock, IdFactory, Llm
from domain.errors import LlmUnavailable
from domain.incorporator.match import MatchResult, TokenUsage
from domain.incorporator.outcome import (
    ANY_ACTION,
    FALLBACK_ACTION,
    AllowedActions,
    ApplierOutcome,
    Source,
    dsl_action,
    dsl_instruction,
)
from domain.incorporator.query import QueryInput
from domain.incorporator.reply import parse_action
from domain.values import JsonObject


class Apply:
    """Turns a match into a concrete action and instruction; at the worst, into the lesson's title.

    No action outside of `allowed` is answered: a lesson's own counts as none, and a model's as an unparsable reply.
    """

    def __init__(
        self,
        *,
        llm: Llm,
        llm_timeout_s: float,
        clock: Clock,
        new_id: IdFactory,
        allowed: AllowedActions = ANY_ACTION,
    ) -> None:
        self._llm = llm
        self._llm_timeout_s = llm_timeout_s
        self._clock = clock
        self._new_id = new_id
        self._allowed = allowed

    async def __call__(self, match: MatchResult, query: QueryInput, budget: LlmBudget | None = None) -> ApplierOutcome:
        action = dsl_action(match.raw_payload, self._allowed)
        if action is None:
            return await self._by_llm(match, query, budget or LlmBudget(self._llm_timeout_s))
        return ApplierOutcome(
            id=self._new_id(),
            source=Source.DSL,
            action=action,
            instruction=dsl_instruction(match.raw_payload, query),
            recommended_action_payload={"dsl_payload": match.raw_payload.dsl_payload},
            match_result=match,
            created_at=self._clock.now(),
        )

    async def _by_llm(self, match: MatchResult, query: QueryInput, budget: LlmBudget) -> ApplierOutcome:
        action, instruction = FALLBACK_ACTION, match.raw_payload.title
        response: JsonObject | None = None
        try:
            reply = await self._llm.ask(apply_prompt(query, match.raw_payload, self._allowed), budget.left())
        except LlmUnavailable:
            pass
        else:
            spent = TokenUsage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
            match = msgspec.structs.replace(match, usage=(match.usage or TokenUsage()) + spent)
            parsed = parse_action(reply.text)
            if parsed is not None and parsed[0].action in self._allowed:
                action, instruction, response = parsed[0].action, parsed[0].instruction, parsed[1]
        return ApplierOutcome(
            id=self._new_id(),
            source=Source.LLM,
            action=action,
            instruction=instruction,
            recommended_action_payload={"llm_response": response},
            match_result=match,
            created_at=self._clock.now(),
        )
