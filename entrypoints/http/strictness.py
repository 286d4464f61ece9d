"""What a JSON text must not hold although JSON allows it. Cheap scans of the bytes; a closer look only on suspicion.

The decoder by itself refuses NaN, infinities, lone surrogates and raw control characters. It does not look at the
numbers and the UTF-8 of fields that it ignores, and takes NUL characters, any depth and whole numbers of any size.
"""

from __future__ import annotations

import json
import re
from itertools import islice

import msgspec

from domain.errors import FieldError, InvalidInput
from domain.json_values import DEEPEST, faults
from entrypoints.http.misfits import MOST, field_error, refusal

_NUMBERS_ALIKE = bytes.maketrans(b"123456789E", b"000000000e")
#: Beyond a double there are numbers with an exponent of three digits, or with more digits than these.
_MANY_DIGITS = b"0" * 200

_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_TO_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def check(body: bytes) -> None:
    """Refuses a JSON text, decoded before, for what it holds beside its shape. Raises `InvalidInput`."""
    if too_deep(body):
        raise _too_deep()
    if _is_suspect(body):
        decoded(body)


def decoded(body: bytes) -> object:
    """Everything that a body says, also what its route ignores. Raises `InvalidInput` for what nobody may send."""
    try:
        body.decode()
        value = msgspec.json.decode(body)
    except RecursionError as error:
        raise _too_deep() from error
    except UnicodeDecodeError as error:
        raise InvalidInput("the body is not JSON", [field_error("$", f"must be UTF-8: {error.reason}")]) from error
    except msgspec.DecodeError as error:
        _refuse_faults(_read_leniently(body))
        raise InvalidInput("the body is not JSON", [field_error("$", _in_words(str(error)))]) from error
    if too_deep(body):
        raise _too_deep()
    if _is_suspect(body):
        _refuse_faults(value)
    return value


def _read_leniently(body: bytes) -> object:
    """With what JSON does not have and others write all the same: NaN, infinities, halves of surrogate pairs. None
    where it is not even that.
    """
    try:
        return json.loads(body.decode())
    except (ValueError, RecursionError):
        return None


def _refuse_faults(value: object) -> None:
    found = list(islice(faults(value), MOST))
    if found:
        raise refusal("body", [field_error(f"${place}", what) for place, what in found])


def too_deep(body: bytes) -> bool:
    """Whether the arrays and objects of a valid JSON text are nested too deep; in time linear to its length."""
    if body.count(b"{") + body.count(b"[") <= DEEPEST:
        return False
    brackets = _STRINGS.sub(b"", body).translate(_TO_ONE_KIND, _NO_BRACKETS)
    for _ in range(DEEPEST):
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


def _is_suspect(body: bytes) -> bool:
    numbers = body.translate(_NUMBERS_ALIKE)
    return b"\\u0000" in body or b"0e000" in numbers or b"0e+000" in numbers or _MANY_DIGITS in numbers


def _too_deep() -> InvalidInput:
    message = f"must not be nested deeper than {DEEPEST} levels"
    return InvalidInput(f"the body {message}", [FieldError("$", message)])


def _in_words(message: str) -> str:
    text = message.removeprefix("JSON is malformed: ").partition(" - at ")[0]
    return "must not hold a number beyond a double" if "out of range" in text else text
