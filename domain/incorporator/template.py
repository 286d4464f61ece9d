"""Instruction templates: data, never code.

Only plain `{name}` placeholders are substituted, dotted to any depth (`{task.file}` reads keys of nested objects).
`{{` and `}}` are literal braces. Attributes, indexes, conversions and format specs are never evaluated: a template that
holds one does not parse, and a template that does not parse or misses a value is used as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}\[\]!:]+)\}|[{}]")


class _Missing(Exception):
    """A placeholder has no value in the data."""


@lru_cache(maxsize=4096)
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


def fill(template: str, data: Mapping[str, object]) -> str:
    """The template with its placeholders substituted from `data`, or unchanged (see above)."""
    parts = _parse(template)
    if parts is None:
        return template
    try:
        return "".join(part if isinstance(part, str) else _render(_look_up(data, part)) for part in parts)
    except _Missing:
        return template


def _look_up(data: Mapping[str, object], keys: tuple[str, ...]) -> object:
    value: object = data
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            raise _Missing
        value = value[key]
    return value


def _render(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
