"""The DSL matcher's rules: which bin and which query a problem type is looked up with."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec

from domain.errors import InvalidConfiguration
from domain.learner.lesson import Bin
from domain.values import CallerId

_PLACE: Final = re.compile(r"\$\.rules\[(\d+)\]")
_FIELD: Final = re.compile(r"\$\.(?:rules\[\d+\]\.)?(\w+)`")
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

    Raises `InvalidConfiguration` with the file's `name`, the line and the reason.
    """
    try:
        return _parsed(text.removeprefix(codecs.BOM_UTF8), name)
    except RecursionError as error:
        raise InvalidConfiguration(f"{name}, line 1: nested too deeply for a rules file") from error


def _parsed(text: bytes, name: str) -> RuleSet:
    try:
        return RuleSet(msgspec.json.decode(text, type=_RulesFile).rules)
    except msgspec.ValidationError as error:
        line = _line_of(text, str(error))
        raise InvalidConfiguration(f"{name}, line {line}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        position = re.search(r"byte (\d+)", str(error))
        line = 1 + text.count(b"\n", 0, int(position.group(1))) if position else 1 + text.count(b"\n")
        raise InvalidConfiguration(f"{name}, line {line}: {error}") from error


def _line_of(text: bytes, reason: str) -> int:
    """The line of the field that the validation message is about (`$.rules[2].target_bin`), else of its rule."""
    start, end = _rule(text, reason)
    field = _UNKNOWN.search(reason) or _FIELD.search(reason)
    if field is not None:
        name = re.escape(msgspec.json.encode(field.group(1)))
        found = re.compile(name + rb"\s*:").search(text, start, end)
        start = found.start() if found else start
    return 1 + text.count(b"\n", 0, start)


def _rule(text: bytes, reason: str) -> tuple[int, int]:
    """Where the rule that the message points at begins and ends; the whole text where it points at none."""
    place = _PLACE.search(reason)
    if place is None:
        return 0, len(text)
    outer = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    rules = msgspec.json.decode(outer["rules"], type=list[msgspec.Raw])
    start = end = text.index(bytes(outer["rules"]))
    for raw in rules[: int(place.group(1)) + 1]:
        start = text.index(bytes(raw), end)
        end = start + len(bytes(raw))
    return start, end
