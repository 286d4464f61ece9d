"""The YAML between two lines of three hyphens at the top of a Markdown file.

It is read as text: every scalar is the string that stands there, so `version: 1.10` stays "1.10" and `title: No` stays
"No". Aliases, repeated keys and deep nesting are refused. Problems name the line of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec
import yaml

from domain.errors import FieldError, InvalidInput
from domain.json_values import DEEPEST
from domain.values import JsonObject

_LONGEST = 1_048_576
_OPENS = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSES = re.compile(r"^---[ \t]*(?:\r?\n|\Z)(?:\r?\n)?", re.MULTILINE)
_UNQUOTED = re.compile(r"^([\w-]+:[ \t]+)(?![\"'|>\[{&*!%@`#])(\S[^\r\n]*(?:\r?\n[ \t]+\S[^\r\n]*)*)", re.MULTILINE)
_HUGE = re.compile(r"-?[1-9][0-9]{309,}")
_QUOTE = "'"
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|(?<=--)-")
_ESCAPED = re.compile(rf'["\\]|{_UNPRINTABLE.pattern}')


class FrontMatter(msgspec.Struct, frozen=True):
    """`head + body` is the file, character for character.

    One empty line after the closing hyphens belongs to the head; whatever follows it is the body.
    """

    head: str
    body: str
    fields: Fields


class Fields:
    """The keys of one mapping. What does not fit is noted in `problems`, so that all of it is heard at once."""

    def __init__(self, node: yaml.MappingNode | None, problems: list[FieldError], within: str = "") -> None:
        self.problems = problems
        self._within = within
        self._nodes: dict[str, yaml.Node] = {}
        for key, value in node.value if node is not None else ():
            if not isinstance(key, yaml.ScalarNode):
                problems.append(FieldError(within or "front matter", f"line {_line(key)}: a key must be plain text"))
            elif key.value in self._nodes:
                problems.append(FieldError(within + key.value, f"line {_line(key)}: the key is there twice"))
            else:
                self._nodes[key.value] = value

    def refuse(self, name: str, message: str) -> None:
        """Notes a problem with the key, at its line where it is there."""
        node = self._nodes.get(name)
        place = f"line {_line(node)}: " if node is not None else ""
        self.problems.append(FieldError(self._within + name, place + message))

    def text(self, name: str) -> str | None:
        """The scalar as it is written, without its quotes; None where the key is missing."""
        node = self._nodes.get(name)
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        self.refuse(name, "must be text, not a list or a map")
        return None

    def texts(self, name: str) -> list[str] | None:
        """The scalars of a list, empty where it holds something else; None where the key is missing or no list."""
        node = self._nodes.get(name)
        if not isinstance(node, yaml.SequenceNode):
            return None
        if all(isinstance(item, yaml.ScalarNode) for item in node.value):
            return [str(item.value) for item in node.value]
        self.refuse(name, "must be a list of texts")
        return []

    def required(self, name: str) -> str:
        """The scalar without the space around it; empty, and refused, where there is none."""
        text = self.text(name)
        if name not in self._nodes or (text is not None and not text.strip()):
            self.refuse(name, "is missing")
        return (text or "").strip()

    def is_map(self, name: str) -> bool:
        return isinstance(self._nodes.get(name), yaml.MappingNode)

    def map(self, name: str) -> Fields:
        """The keys of a nested map; none where the key is missing."""
        node = self._nodes.get(name)
        if isinstance(node, yaml.MappingNode):
            return Fields(node, self.problems, f"{self._within}{name}.")
        if isinstance(node, yaml.SequenceNode) or (isinstance(node, yaml.ScalarNode) and node.value):
            self.refuse(name, "must be a map of keys to texts")
        return Fields(None, self.problems, f"{self._within}{name}.")

    def everything(self) -> JsonObject:
        """The whole map as JSON data: an unquoted scalar that is a JSON number, true, false or null is one."""
        return {name: self._data(name, node) for name, node in self._nodes.items()}

    def texts_by_name(self) -> dict[str, str]:
        """The whole map as texts: scalars as they are written, a nested list or map as its JSON text."""
        return {
            name: str(node.value)
            if isinstance(node, yaml.ScalarNode)
            else msgspec.json.encode(self._data(name, node)).decode()
            for name, node in self._nodes.items()
        }

    def _data(self, name: str, node: yaml.Node) -> object:
        if isinstance(node, yaml.MappingNode):
            return Fields(node, self.problems, f"{self._within}{name}.").everything()
        if isinstance(node, yaml.SequenceNode):
            return [self._data(f"{name}[{index}]", item) for index, item in enumerate(node.value)]
        if not isinstance(node, yaml.ScalarNode) or node.style is not None:
            return node.value
        if _HUGE.fullmatch(node.value):  # Python would not even read it
            self.refuse(name, "must not be a number beyond a double")
            return 0
        return _plain(node.value)


def read(text: str, file: str) -> FrontMatter | None:
    """The front matter and the body, or None where the text does not open with a line of three hyphens.

    Raises `InvalidInput` that names `file`, the line and the reason.
    """
    opening = _OPENS.match(text)
    if opening is None:
        return None
    closing = _CLOSES.search(text, opening.end())
    if closing is None:
        raise refusal(file, [FieldError("front matter", "line 1: no line of three hyphens closes it")])
    source = text[opening.end() : closing.start()]
    try:
        node = _compose(source)
    except yaml.YAMLError as error:
        raise refusal(file, [_yaml_problem(error, source)]) from error
    if node is not None and not isinstance(node, yaml.MappingNode):
        raise refusal(file, [FieldError("front matter", "line 2: must be a map of keys to values")])
    return FrontMatter(text[: closing.end()], text[closing.end() :], Fields(node, []))


def refusal(file: str, problems: Sequence[FieldError]) -> InvalidInput:
    """The error for a file that cannot be taken: its name, the first problem in words, all of them as a list."""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return InvalidInput(f"{file}: {problems[0].path}: {problems[0].message}{more}", problems)


def quoted(text: str) -> str:
    """A YAML scalar on one line that every YAML reader turns back into exactly `text`.

    There are no three hyphens in it, for some readers of front matter look for the next three, wherever they are.
    """
    if ('"' in text or "\\" in text) and not _UNPRINTABLE.search(text):
        return _QUOTE + text.replace(_QUOTE, _QUOTE * 2) + _QUOTE
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    if character in '"\\':
        return "\\" + character
    return f"\\x{ord(character):02X}" if character < "\u0100" else f"\\u{ord(character):04X}"


def _check_shape(source: str) -> None:
    """An alias could make a small file a huge one, and deep nesting could exhaust the stack: both are refused."""
    depth = 0
    for event in yaml.parse(source, Loader=yaml.BaseLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > DEEPEST:
            line = event.start_mark.line + 2 if event.start_mark is not None else 1
            nested = f"nesting deeper than {DEEPEST} levels is not allowed"
            raise yaml.YAMLError(f"line {line}: {nested if depth > DEEPEST else 'aliases are not allowed'}")


def _compose(source: str) -> yaml.Node | None:
    """Reads the YAML; unquoted values with a `: ` in them, common in the wild, are taken as the text that they mean."""
    if len(source) > _LONGEST:
        raise yaml.YAMLError(f"is longer than {_LONGEST:,} characters")
    try:
        return _read_yaml(source)
    except yaml.scanner.ScannerError as error:
        repaired = _UNQUOTED.sub(lambda found: f"{found[1]}'{found[2].replace(_QUOTE, _QUOTE * 2)}'", source)
        try:
            return _read_yaml(repaired)
        except yaml.YAMLError:
            raise error from None


def _read_yaml(source: str) -> yaml.Node | None:
    _check_shape(source)
    return yaml.compose(source, Loader=yaml.BaseLoader)


def _yaml_problem(error: yaml.YAMLError, source: str) -> FieldError:
    if isinstance(error, yaml.reader.ReaderError):
        line = source.count("\n", 0, error.position) + 2
        return FieldError("front matter", f"line {line}: the character U+{error.character:04X} is not allowed")
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 2}, column {mark.column + 1}: " if mark is not None else ""
        return FieldError("front matter", f"{place}{error.problem or error.context}")
    return FieldError("front matter", str(error))


def _line(node: yaml.Node) -> int:
    """Where the node stands in the file: YAML counts from 0, and the opening hyphens are the first line."""
    return node.start_mark.line + 2


def _plain(text: str) -> object:
    """An unquoted scalar: what JSON would make of it where that is a number, true, false or null; else the text."""
    try:
        value: object = json.loads(text, parse_constant=str)
    except ValueError:
        return text
    return value if value is None or isinstance(value, (bool, int, float)) else text
