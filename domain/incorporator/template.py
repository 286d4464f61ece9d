"""Instruction templates: data, never code.

Only plain `{name}` placeholders are substituted, dotted to any depth (`{task.file}` reads keys of nested objects).
`{{` and `}}` are literal braces. Attributes, indexes, conversions and format specs are never evaluated: a template that
holds one does not parse, and a template that does not parse, misses a value or would grow beyond all use is used as it
stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}\[\]!:]+)\}|[{}]")


#: Characters of the longest instruction that a template may grow to.
_LONGEST = 1_000_000
#: Templates up to this length are parsed once and remembered.
_REMEMBERED = 2_000


class _Missing(Exception):
    """A placeholder has no value in the data."""


def _parse(template: str) -> tuple[str | tuple[str, ...], ...] | None:
    """Literals (str) and placeholders (tuple of keys) in order; None where the template does not parse."""
    parts: list[str | tuple[str, ...]] = []
    end = 0
    for token in _TOKEN.finditer(template):
        parts.append(template[end : token.start()])
        end = token.end()
        if token.group() in ("{{", "}}"):
            parts.append(token.group()[0])
            continue
        keys = tuple((token.group(1) or "").split("."))
        if not all(keys):
            return None
        parts.append(keys)
    parts.append(template[end:])
    return tuple(parts)


_parsed = lru_cache(maxsize=4096)(_parse)


def fill(template: str, data: Mapping[str, object]) -> str:
    """The template with its placeholders substituted from `data`, or unchanged (see above)."""
    parts = _parsed(template) if len(template) <= _REMEMBERED else _parse(template)
    if parts is None:
        return template
    pieces: list[str] = []
    length = 0
    try:
        for part in parts:
            pieces.append(part if isinstance(part, str) else _render(_look_up(data, part)))
            length += len(pieces[-1])
            if length > _LONGEST:
                return template
    except _Missing:
        return template
    return "".join(pieces)


def _look_up(data: Mapping[str, object], keys: tuple[str, ...]) -> object:
    value: object = data
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            raise _Missing
        value = value[key]
    return value


def _render(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
