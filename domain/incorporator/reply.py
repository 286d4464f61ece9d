"""Reading a language model's replies: JSON objects wherever they stand, in code fences or in prose."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from domain.values import JsonObject

_LONGEST = 32_768
_MOST_LOOKED_AT = 4 * _LONGEST


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The model's choice among the candidates; `lesson_id` is None where it found none fitting."""

    lesson_id: str | None
    confidence: float


class Action(msgspec.Struct, frozen=True, kw_only=True):
    action: str
    instruction: str


def parse_choice(text: str) -> Choice | None:
    """The first object in the reply that is a choice, or None (unparsable).

    The confidence is clamped to [0, 1]; a missing, non-numeric, NaN or infinite one makes the reply unparsable, unless
    the model says that nothing fits.
    """
    for found in _objects(text):
        if "lesson_id" not in found:
            continue
        lesson_id, confidence = found["lesson_id"], found.get("confidence")
        if lesson_id is None or lesson_id == "":
            return Choice(lesson_id=None, confidence=0.0)
        if not isinstance(lesson_id, str) or isinstance(confidence, bool) or not isinstance(confidence, int | float):
            return None
        return _choice(lesson_id, confidence)
    return None


def _choice(lesson_id: str, confidence: float) -> Choice | None:
    try:
        number = float(confidence)
    except OverflowError:
        return None
    return Choice(lesson_id=lesson_id, confidence=min(1.0, max(0.0, number))) if math.isfinite(number) else None


def parse_action(text: str) -> tuple[Action, JsonObject] | None:
    """The action of the first object in the reply that has one, with the whole object; None where unparsable."""
    for found in _objects(text):
        action, instruction = found.get("action"), found.get("instruction")
        if isinstance(action, str) and action.strip() and isinstance(instruction, str) and instruction.strip():
            return Action(action=action, instruction=instruction), found
    return None


def _objects(text: str) -> Iterator[JsonObject]:
    """Each JSON object in the text, in order, with whatever stands between them skipped.

    The work is bounded, whatever the model says: no more than so many characters are looked at, all tries together.
    """
    text = text[:_LONGEST]
    start, looked_at = text.find("{"), 0
    while start >= 0 and looked_at < _MOST_LOOKED_AT:
        end = _end_of_object(text, start)
        looked_at += (end or len(text)) - start
        try:
            found = msgspec.json.decode(text[start:end], type=dict[str, object]) if end else None
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            found = None
        if found is not None:
            yield found
        start = text.find("{", end if found is not None else start + 1)


def _end_of_object(text: str, start: int) -> int:
    """The index behind the brace that closes the one at `start`, minding strings; 0 where none does."""
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        char = text[at]
        if escaped:
            escaped = False
        elif quoted:
            escaped = char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return at + 1
    return 0
