"""What every lesson's content must be, whichever way it comes in: the rules for a draft read from a file."""

from __future__ import annotations

import re

from domain.errors import FieldError
from domain.json_values import faults
from domain.learner.lesson import LessonDraft

LONGEST_TITLE = 500
LONGEST_TAG = 100
LONGEST_SOURCE = 500
MOST_TAGS = 64
MOST_GROWTH = 4
"""How many times as long as it is a text may become when it is normalised for comparison."""
ANY_GROWTH = 1_000
"""Characters that a normalised text may have whatever its own length."""

EXPANSIONS = {
    **dict.fromkeys("\u3307\u3315\u3317\u3319\u331a\u3320\u332b\u332e\u3332\u3334\u3336\u3347\u334a\u3356\u33ae", 5),
    **dict.fromkeys("\u3316\u33af", 6),
    "\ufdfb": 8,
    "\ufdfa": 18,
}
"""The characters that normalising makes more than `MOST_GROWTH` of: of how many each."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def is_title(text: str) -> bool:
    """1 to 500 characters, not only spaces, none of them a control character or half of a surrogate pair."""
    return _is_line(text, 1, LONGEST_TITLE) and not text.isspace()


def growth_problem(text: str) -> str | None:
    """What to say of a text that becomes far longer when it is normalised; None of any other. It is not normalised for
    that, which takes a second for a long one.
    """
    if text.isascii():
        return None
    normalised = len(text) + sum((count - 1) * text.count(char) for char, count in EXPANSIONS.items())
    allowed = max(ANY_GROWTH, MOST_GROWTH * len(text))
    if normalised <= allowed:
        return None
    return (
        f"has {len(text)} characters, and {normalised} when it is normalised for comparison (NFKC): at most {allowed} "
        "are allowed, so write its ligatures out, e.g. U+FDFA"
    )


def problems(draft: LessonDraft) -> list[FieldError]:
    """Everything that keeps the draft from being a lesson; empty when it may be injected."""
    found = []
    if not is_title(draft.title):
        found.append(
            FieldError("title", f"must be 1 to {LONGEST_TITLE} characters without control characters, not only spaces")
        )
    if _UNSTORABLE.search(draft.body):
        found.append(FieldError("body", "must not hold a NUL character or half of a surrogate pair"))
    for name, text in (("title", draft.title), ("body", draft.body)):
        grown = growth_problem(text)
        if grown is not None:
            found.append(FieldError(name, grown))
    if len(draft.tags) > MOST_TAGS:
        found.append(FieldError("tags", f"must be at most {MOST_TAGS}"))
    for index, tag in enumerate(draft.tags[:MOST_TAGS]):
        if not _is_line(tag, 1, LONGEST_TAG):
            reason = f"must be 1 to {LONGEST_TAG} characters without control characters"
            found.append(FieldError(f"tags[{index}]", reason))
    if not _is_line(draft.source, 0, LONGEST_SOURCE):
        found.append(FieldError("source", f"must be at most {LONGEST_SOURCE} characters without control characters"))
    about_payload = dict.fromkeys(what for _, what in faults(draft.dsl_payload))
    found.extend(FieldError("dsl_payload", message) for message in about_payload)
    return found


def _is_line(text: str, shortest: int, longest: int) -> bool:
    return shortest <= len(text) <= longest and not _CONTROL.search(text)
