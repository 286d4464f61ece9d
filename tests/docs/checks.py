"""What is compared: printed output with what a page shows of it, and JSON with the shapes that the service has."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import msgspec

from application.incorporator.explain import Explanation
from domain.feedback.entry import FeedbackEntry, OutcomeReport
from domain.incorporator.outcome import ApplierOutcome
from domain.incorporator.query import QueryInput
from domain.incorporator.rules import parse_rules
from entrypoints.http.escalations import EscalationAnswer
from entrypoints.http.lesson_wire import DecisionBody, DraftBody, EditBody, LessonAnswer
from entrypoints.http.problems import Problem


class FlaggedLesson(msgspec.Struct, forbid_unknown_fields=True):
    """The delivery of a human path, field for field as the domain writes it (a test compares them)."""

    lesson_skill_id: str
    feedback_entry_id: str
    reason: str


class Remediation(msgspec.Struct, forbid_unknown_fields=True):
    lesson_skill_id: str
    failure_count: int


class RemediationEvent(msgspec.Struct, forbid_unknown_fields=True):
    """The delivery of an auto path."""

    event_type: Literal["lesson_remediation"]
    payload: Remediation


SHAPES: dict[str, Any] = {
    shape.__name__: shape
    for shape in (
        QueryInput,
        ApplierOutcome,
        OutcomeReport,
        FeedbackEntry,
        Explanation,
        DraftBody,
        EditBody,
        DecisionBody,
        LessonAnswer,
        EscalationAnswer,
        Problem,
        FlaggedLesson,
        RemediationEvent,
    )
}


def check_shape(name: str, text: str) -> None:
    """The JSON is a value of this shape; `rules` stands for a rules file."""
    if name == "rules":
        parse_rules(text.encode(), "the block")
        return
    msgspec.json.decode(text, type=SHAPES[name])


def check_output(shown: str, printed: str, language: str, place: str) -> None:
    """What was printed is what the page shows; JSON is compared as JSON, `…` stands for anything."""
    if language == "json":
        found = [json.loads(line) for line in _documents(printed)]
        assert found, f"{place}: nothing was printed that is JSON:\n{printed}"
        difference = _difference(json.loads(shown), found[-1], "$")
        assert difference is None, f"{place}: {difference}; printed was:\n{json.dumps(found[-1], indent=2)}"
        return
    pattern = ".*?".join(re.escape(part) for part in shown.strip().split("…"))
    assert re.fullmatch(pattern, printed.strip(), re.DOTALL), f"{place}: printed was:\n{printed}"


def _documents(printed: str) -> list[str]:
    """The JSON documents in an output: one over several lines, or one a line."""
    text = printed.strip()
    try:
        json.loads(text)
    except ValueError:
        return [line for line in text.splitlines() if line.startswith(("{", "["))]
    return [text]


def _difference(shown: object, found: object, at: str) -> str | None:
    """Where they differ. An object may be cut short by a key `…`, a list by a last element `…`."""
    if shown == "…":
        return None
    if isinstance(shown, str) and "…" in shown and isinstance(found, str):
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        return None if re.fullmatch(pattern, found, re.DOTALL) else f"{at} is {found!r}, not {shown!r}"
    if isinstance(shown, dict) and isinstance(found, dict):
        return _object_difference(shown, found, at)
    if isinstance(shown, list) and isinstance(found, list):
        whole = shown[:-1] if shown and shown[-1] == "…" else shown
        if len(found) < len(whole) or (whole is shown and len(found) != len(shown)):
            return f"{at} has {len(found)} elements"
        pairs = enumerate(zip(whole, found, strict=False))
        return next((one for n, (a, b) in pairs if (one := _difference(a, b, f"{at}[{n}]"))), None)
    return None if shown == found else f"{at} is {found!r}, not {shown!r}"


def _object_difference(shown: dict[str, object], found: dict[str, object], at: str) -> str | None:
    named = {key: value for key, value in shown.items() if key != "…"}
    missing = sorted(named.keys() - found.keys())
    if missing:
        return f"{at} has no {', '.join(missing)}"
    more = sorted(found.keys() - named.keys())
    if more and "…" not in shown:
        return f"{at} has {', '.join(more)} too"
    return next((one for key, value in named.items() if (one := _difference(value, found[key], f"{at}.{key}"))), None)
