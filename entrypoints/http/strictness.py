"""What a JSON text must not hold although JSON allows it. Cheap scans of the bytes; a closer look only on suspicion.

NaN, infinities, lone surrogates, raw control characters and floats beyond a double the decoder refuses by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from domain.errors import FieldError

DEEPEST = 32
"""Levels of nesting that a body may have."""

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_TOO_MANY_DIGITS = b"0" * 309
_LARGEST = 2**1024

_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_TO_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def objection(body: bytes) -> FieldError | None:
    """What is wrong with a body that is valid JSON, or None."""
    if body.count(b"{") + body.count(b"[") > DEEPEST and too_deep(body):
        return FieldError("$", f"must not be nested deeper than {DEEPEST} levels")
    if b"\\u0000" in body or (len(body) > len(_TOO_MANY_DIGITS) and _TOO_MANY_DIGITS in body.translate(_DIGITS)):
        return next(_faults("$", msgspec.json.decode(body)), None)
    return None


def too_deep(body: bytes) -> bool:
    """Whether the arrays and objects of a valid JSON text are nested too deep; in time linear to its length."""
    brackets = _STRINGS.sub(b"", body).translate(_TO_ONE_KIND, _NO_BRACKETS)
    for _ in range(DEEPEST):
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


def _faults(path: str, value: object) -> Iterator[FieldError]:
    if isinstance(value, str):
        if "\x00" in value:
            yield FieldError(path, "must not hold a NUL character")
    elif isinstance(value, int):
        if abs(value) >= _LARGEST:
            yield FieldError(path, "must not be a number beyond a double")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _faults(f"{path}.{key}" if "\x00" not in key else path, key)
            yield from _faults(f"{path}.{key}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _faults(f"{path}[{number}]", inner)
