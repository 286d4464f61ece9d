"""What an agent asks: a problem at one step of its pipeline."""

from __future__ import annotations

import msgspec

from domain.values import CallerId, JsonObject


class QueryInput(msgspec.Struct, frozen=True, kw_only=True):
    """The body of an invoke.

    `problem_type` is the key of the DSL rules. `current_task_context` and `additional_caller_data` fill instruction
    templates (on a name clash the latter wins) and make up the text query; `system_state` goes to the LLM applier.
    """

    session_id: CallerId
    problem_solving_step_ref: CallerId
    problem_type: CallerId
    current_task_context: JsonObject = {}
    system_state: JsonObject = {}
    additional_caller_data: JsonObject = {}


def text_query(query: QueryInput) -> str:
    """The text by which the LLM matcher looks for similar lessons: the problem type, then one line a value.

    Nested values are flattened to their words; keys are kept, since they say what a value is.
    """
    lines = [query.problem_type]
    for data in (query.current_task_context, query.additional_caller_data):
        lines.extend(_lines(data))
    return "\n".join(lines)


def _lines(data: JsonObject, prefix: str = "") -> list[str]:
    lines: list[str] = []
    for key, value in data.items():
        lines.extend(_flat(f"{prefix}{key}", value))
    return lines


def _flat(name: str, value: object) -> list[str]:
    if isinstance(value, dict):
        return _lines(value, f"{name} ")
    if isinstance(value, list | tuple):
        return [line for one in value for line in _flat(name, one)]
    if value is None or value == "":
        return []
    return [f"{name}: {value}"]
