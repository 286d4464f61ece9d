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

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def is_title(text: str) -> bool:
    """1 to 500 characters, not only spaces, none of them a control character or half of a surrogate pair."""
    return _is_line(text, 1, LONGEST_TITLE) and not text.isspace()


def problems(draft: LessonDraft) -> list[FieldError]:
    """Everything that keeps the draft from being a lesson; empty when it may be injected."""
    found = []
    if not is_title(draft.title):
        found.append(
            FieldError("title", f"must be 1 to {LONGEST_TITLE} characters without control characters, not only spaces")
        )
    if _UNSTORABLE.search(draft.body):
        found.append(FieldError("body", "must not hold a NUL character or half of a surrogate pair"))
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
