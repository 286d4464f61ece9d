"""What an agent asks: a problem at one step of its pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

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


#: Characters of the longest text query; no embedder makes more of a longer one.
LONGEST_TEXT = 20_000
_MOST_VALUES = 10_000


def text_query(query: QueryInput) -> str:
    """The text by which the LLM matcher looks for similar lessons: the problem type, then one line a value.

    Nested values are flattened, and white space within one becomes a space. The names of fields are left out: they are
    the caller's, the same in every query, and make what has nothing to do with any lesson look alike. What is beyond
    `LONGEST_TEXT` characters is left out, too.
    """
    lines, length = [query.problem_type], len(query.problem_type)
    flattened = chain(_lines(query.current_task_context), _lines(query.additional_caller_data))
    for line in islice(flattened, _MOST_VALUES):
        if line:
            lines.append(line)
            length += len(line) + 1
        if length >= LONGEST_TEXT:
            break
    return "\n".join(lines)[:LONGEST_TEXT]


def _lines(value: object) -> Iterator[str]:
    """A line for each value within; an empty one for what says nothing, so that looking for more ends somewhere."""
    if isinstance(value, dict | list | tuple) and value:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _lines(one)
    else:
        yield " ".join(str(value)[:LONGEST_TEXT].split()) if value not in (None, "", {}, [], ()) else ""
