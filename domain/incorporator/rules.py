"""The DSL matcher's rules: which bin and which query a problem type is looked up with."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec

from domain.errors import InvalidConfiguration
from domain.learner.lesson import Bin, naming_bins
from domain.values import CallerId

_PLACE: Final = re.compile(r"\$\.rules\[(\d+)\]")
_FIELD: Final = re.compile(r"\$\.(?:rules\[\d+\]\.)?(\w+)`")
_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_UNKNOWN: Final = re.compile(r"unknown field `([^`]+)`")


class DslRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`query` defaults to the problem type. A hit that scores below `min_score` is ignored."""

    problem_type: CallerId
    target_bin: Bin
    query: Annotated[str, msgspec.Meta(max_length=10_000)] | None = None
    min_score: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0

    @property
    def lookup(self) -> str:
        return self.query or self.problem_type


class _RulesFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rules: list[DslRule]


class RuleSet:
    """The rules in force: those of one problem type in the file's order."""

    def __init__(self, rules: Sequence[DslRule] = ()) -> None:
        by_type: dict[str, list[DslRule]] = {}
        for rule in rules:
            by_type.setdefault(rule.problem_type, []).append(rule)
        self.all = tuple(rules)
        self._by_type: Mapping[str, Sequence[DslRule]] = by_type

    def of(self, problem_type: str) -> Sequence[DslRule]:
        return self._by_type.get(problem_type, ())


def parse_rules(text: bytes, name: str) -> RuleSet:
    """The rules in a file's text, which may begin with UTF-8's byte order mark, as editors on Windows write it.

    Raises `InvalidConfiguration` with the file's `name`, the line and the reason; whatever the text is, nothing else.
    """
    text = text.removeprefix(codecs.BOM_UTF8)
    try:
        return RuleSet(msgspec.json.decode(text, type=_RulesFile).rules)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        line, reason = _malformed(text) or _misfit(text, str(error))
        raise InvalidConfiguration(f"{name}, line {line}: {reason}") from error


def _malformed(text: bytes) -> tuple[int, str] | None:
    """The line from which on a text is no JSON, and why; None where it is JSON of whatever content."""
    try:
        text.decode()
        msgspec.json.decode(text)
    except UnicodeDecodeError as error:
        return _line(text, error.start), f"not UTF-8 at byte {error.start}: save the file as UTF-8"
    except msgspec.ValidationError:  # a number that is too large, which is JSON nevertheless
        return None
    except RecursionError:
        return 1, "nested too deeply for a rules file"
    except (msgspec.DecodeError, ValueError) as error:
        position = _BYTE.search(str(error))
        return _line(text, int(position.group(1)) if position else len(text)), str(error)
    return None


def _misfit(text: bytes, reason: str) -> tuple[int, str]:
    """The line of the field that the validation message is about (`$.rules[2].target_bin`), else of its rule."""
    start, end = _rule(text, reason)
    field = _UNKNOWN.search(reason) or _FIELD.search(reason)
    if field is not None:
        name = re.escape(msgspec.json.encode(field.group(1)))
        found = re.compile(name + rb"\s*:").search(text, start, end)
        start = found.start() if found else start
    return _line(text, start), naming_bins(reason)


def _line(text: bytes, position: int) -> int:
    return 1 + text.count(b"\n", 0, position)


def _rule(text: bytes, reason: str) -> tuple[int, int]:
    """Where the rule that the message points at begins and ends.

    The whole text where it points at none, and where what follows hides the list that it points into.
    """
    place = _PLACE.search(reason)
    if place is None:
        return 0, len(text)
    try:
        outer = msgspec.json.decode(text, type=dict[str, msgspec.Raw])["rules"]
        rules = msgspec.json.decode(outer, type=list[msgspec.Raw])[: int(place.group(1)) + 1]
    except (msgspec.DecodeError, KeyError):
        return 0, len(text)
    start = end = text.index(bytes(outer))
    for raw in rules:
        start = text.index(bytes(raw), end)
        end = start + len(bytes(raw))
    return start, end
