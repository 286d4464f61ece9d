"""What does not fit the documented shape: all such places in a request, not only the first, with what each takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import Annotated, Any, get_args, get_origin

import msgspec

from domain.errors import FieldError, InvalidInput

MOST = 20
"""Errors that one answer lists."""

_LONGEST = 300
_NAMED = 3
_PLACE = re.compile(r" - at `(.+)`$", re.DOTALL)
_PATTERN = re.compile(r" matching regex .*$", re.DOTALL)
#: In the pattern of a text that must not be blank; the message quotes patterns.
_NOT_BLANK = "(?="


def misfits(value: object, shape: Any, *, strict: bool = True) -> list[FieldError]:
    """Where and how `value` differs from `shape`, at most `MOST` of it; `strict` as in `msgspec.convert`."""
    return list(islice(_misfits(value, shape, "$", strict), MOST))


def refusal(what: str, errors: Sequence[FieldError]) -> InvalidInput:
    """The error that says so; its detail names the first few places."""
    named = "; ".join(f"{one.path}: {one.message}" for one in errors[:_NAMED])
    more = f"; and {len(errors) - _NAMED} more" if len(errors) > _NAMED else ""
    return InvalidInput(f"the {what} is not of the documented shape: {named}{more}", errors)


def field_error(path: str, message: str) -> FieldError:
    """Both as an answer may well have them, whatever the caller sent: not long, and no half of a surrogate pair."""
    return FieldError(_short(path), _short(message))


def _misfits(value: object, shape: Any, place: str, strict: bool) -> Iterator[FieldError]:
    try:
        msgspec.convert(value, shape, strict=strict)
    except msgspec.ValidationError as error:
        inner = list(islice(_inside(value, shape, place, strict), MOST))
        yield from inner or [_misfit(error, shape, place)]


def _inside(value: object, shape: Any, place: str, strict: bool) -> Iterator[FieldError]:
    """The misfits within an object's fields or a list's items."""
    plain = get_args(shape)[0] if get_origin(shape) is Annotated else shape
    if isinstance(value, dict) and isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        for field in msgspec.structs.fields(plain):
            if field.encode_name in value:
                yield from _misfits(value[field.encode_name], field.type, f"{place}.{field.encode_name}", strict)
            elif field.required:
                yield FieldError(f"{place}.{field.encode_name}", "is missing")
    elif isinstance(value, list) and get_origin(plain) is list:
        for number, item in enumerate(value):
            yield from _misfits(item, get_args(plain)[0], f"{place}[{number}]", strict)


def _misfit(error: msgspec.ValidationError, shape: Any, place: str) -> FieldError:
    """The decoder's message, split into where and what; patterns and enumerations in words."""
    text = str(error)
    deeper = _PLACE.search(text)
    path = place + deeper.group(1)[1:] if deeper else place
    message = text[: deeper.start()] if deeper else text
    beside = ", and not only of spaces" if _NOT_BLANK in message else ""
    message = _PATTERN.sub(f" without control characters{beside}", message)
    allowed = _allowed(shape)
    if allowed and deeper is None:
        message = f"must be one of: {', '.join(allowed)}"
    return field_error(path, message)


def _allowed(shape: Any) -> list[str]:
    """The values of the enumeration that a shape is, or that it may be beside null."""
    if isinstance(shape, type) and issubclass(shape, Enum):
        return [str(member.value) for member in shape]
    if get_origin(shape) is Annotated:
        return _allowed(get_args(shape)[0])
    return [value for one in get_args(shape) for value in _allowed(one)]


def _short(text: str) -> str:
    shown = text.encode(errors="backslashreplace").decode()
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
