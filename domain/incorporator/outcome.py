"""What the pipeline is told to do: a concrete action and instruction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

import msgspec

from domain.incorporator.match import MatchResult
from domain.incorporator.query import QueryInput
from domain.incorporator.template import fill
from domain.learner.lesson import PromotedLesson
from domain.values import JsonObject

#: The action where the language model's answer cannot be used; the instruction is then the lesson's title.
FALLBACK_ACTION = "apply_recommended_lesson"


class Source(str, Enum):
    DSL = "dsl"
    LLM = "llm"


class ApplierOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an invoke. `recommended_action_payload` is `{"dsl_payload": …}` or `{"llm_response": …}`."""

    id: str
    source: Source
    action: str
    instruction: str
    recommended_action_payload: JsonObject
    match_result: MatchResult
    created_at: datetime


class AllowedActions(msgspec.Struct, frozen=True):
    """The actions that an applier may answer (`MG_ALLOWED_ACTIONS`); None: any. The fallback is always allowed."""

    names: tuple[str, ...] | None = None

    def __contains__(self, action: str) -> bool:
        return self.names is None or action in self.names or action == FALLBACK_ACTION


ANY_ACTION = AllowedActions()


def dsl_action(copy: PromotedLesson, allowed: AllowedActions = ANY_ACTION) -> str | None:
    """The action that the lesson itself names, or None: then the LLM applier answers.

    One that is not allowed is as none, and so is one of spaces alone.
    """
    action = (copy.dsl_payload or {}).get("action")
    return action if isinstance(action, str) and action.strip() and action in allowed else None


def dsl_instruction(copy: PromotedLesson, query: QueryInput) -> str:
    """The lesson's instruction template, filled from the query; without a template the lesson's title."""
    template = (copy.dsl_payload or {}).get("instruction_template")
    if not isinstance(template, str):
        return copy.title
    values: Mapping[str, object] = {**query.current_task_context, **query.additional_caller_data}
    return fill(template, values)
