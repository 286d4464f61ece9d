"""What no value may hold that is kept as JSON, whichever way it comes in: over HTTP, in a file, in Python."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

DEEPEST = 32
"""Levels of nesting that any input of the service may have."""

_LARGEST = 2**1024
_BEYOND = "must not be a number beyond a double"
_LONGEST_KEY = 50
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


def half_in_json(line: str) -> str | None:
    """What is wrong with a line of JSON that escapes half of a surrogate pair, and in which column; else None.

    Its decoder says of such a line that it is cut off.
    """
    for escape in _ESCAPE.finditer(line):
        if escape["half"]:
            return f"must not hold half of a surrogate pair (column {escape.start() + 1}: {escape['half']})"
    return None


def faults(value: object, levels: int = DEEPEST) -> Iterator[tuple[str, str]]:
    """Where in a value (`.name`, `[3]`; empty: itself) and what; objects and arrays may be nested `levels` deep.

    A place is put together from the inside, so that it costs nothing without a fault.
    """
    if isinstance(value, str):
        yield from (("", what) for what in _of_text(value))
    elif isinstance(value, dict | list | tuple):
        yield from _within(value, levels) if levels else [("", f"must not be nested deeper than {DEEPEST} levels")]
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield "", "must not be NaN" if math.isnan(value) else "must not be infinite or a number beyond a double"
    elif isinstance(value, int):
        if abs(value) >= _LARGEST:
            yield "", _BEYOND
    elif value is not None:
        yield "", f"must be a JSON value, and is a {type(value).__name__}"


def _of_text(text: str) -> Iterator[str]:
    if "\x00" in text:
        yield "must not hold a NUL character"
    if not text.isascii() and _SURROGATE.search(text):
        yield "must not hold half of a surrogate pair"


def _within(value: dict[object, object] | list[object] | tuple[object, ...], levels: int) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        for number, inner in enumerate(value):
            yield from ((f"[{number}]{place}", what) for place, what in faults(inner, levels - 1))
        return
    for key, inner in value.items():
        if not isinstance(key, str):
            yield "", f"must have texts as its keys, and has a {type(key).__name__}"
            continue
        yield from (("", f"{what} in a key") for what in _of_text(key))
        yield from ((f".{key[:_LONGEST_KEY]}{place}", what) for place, what in faults(inner, levels - 1))
