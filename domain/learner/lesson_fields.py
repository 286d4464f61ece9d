"""The parts of a lesson in front matter: in the `metadata` of a skill, or at the top of a runbook.

What does not fit is noted in the fields' `problems`; the value is then a harmless stand-in.
"""

from __future__ import annotations

import msgspec

from domain.learner.front_matter import Fields
from domain.learner.lesson import BINS, Bin
from domain.values import JsonObject


def bin_of(fields: Fields, default: Bin) -> Bin:
    """`bin`, or the default where there is none."""
    text = fields.text("bin")
    if text is None:
        return default
    if text not in (one.value for one in Bin):
        fields.refuse("bin", f"must be {BINS}")
        return default
    return Bin(text)


def tags_of(fields: Fields) -> tuple[str, ...]:
    """`tags`: a list, its JSON text, or texts between commas."""
    listed = fields.texts("tags")
    if listed is not None:
        return tuple(listed)
    text = fields.text("tags") or ""
    if not text.startswith("["):
        return tuple(tag for part in text.split(",") if (tag := part.strip()))
    try:
        return msgspec.json.decode(text, type=tuple[str, ...])
    except (ValueError, RecursionError) as error:
        fields.refuse("tags", f"must be a JSON list of texts: {error}")
        return ()


def dsl_payload_of(fields: Fields) -> JsonObject | None:
    """`dsl_payload`: the JSON text of an object or of null, or a map."""
    if fields.is_map("dsl_payload"):
        return fields.map("dsl_payload").everything()
    text = fields.text("dsl_payload")
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=JsonObject | None)
    except (ValueError, RecursionError) as error:
        fields.refuse("dsl_payload", f"must be a JSON object: {error}")
        return None


def json_text(value: object) -> str:
    """Compact JSON with sorted keys: the same value gives the same text, in whichever order a database returns it."""
    return msgspec.json.encode(value, order="deterministic").decode()
