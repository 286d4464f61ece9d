"""Reading query parameters strictly. What is unknown, repeated or of another shape raises `InvalidInput`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec
from litestar.types import Scope

from domain.errors import FieldError, InvalidInput
from entrypoints.http.misfits import MOST, field_error, misfits, refusal

P = TypeVar("P", bound=msgspec.Struct)

_MOST_PARAMETERS = 32


def read_query(scope: Scope, shape: type[P]) -> tuple[P, dict[str, str]]:
    """The query parameters as a `shape`, and those given as they came. An empty one counts as absent."""
    pairs = _pairs(scope)
    given = {name: value for name, value in pairs if value}
    errors = list(_out_of_place(pairs, [field.name for field in msgspec.structs.fields(shape)]))
    if not errors:
        try:
            found = msgspec.convert(given, shape, strict=False)
        except msgspec.ValidationError:
            errors = misfits(given, shape, strict=False)
        else:
            # Read as other types, the text `null` stands for null; what is absent is left out instead.
            errors = [FieldError(name, "must not be null") for name in given if getattr(found, name) is None]
    if errors:
        raise refusal("query", [FieldError(one.path.removeprefix("$."), one.message) for one in errors[:MOST]])
    return found, given


def refuse_query(scope: Scope) -> None:
    """For routes without any parameter."""
    if scope["query_string"]:
        read_query(scope, _Nothing)


class _Nothing(msgspec.Struct):
    """No parameters."""


def _pairs(scope: Scope) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            scope["query_string"].decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError as error:
        message = f"must be URL-encoded UTF-8 with at most {_MOST_PARAMETERS} parameters"
        raise InvalidInput(f"the query string {message}", [FieldError("query", message)]) from error


def _out_of_place(pairs: Sequence[tuple[str, str]], known: Sequence[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for name, value in pairs:
        if name not in known:
            allowed = f"known are: {', '.join(known)}" if known else "this route takes none"
            yield field_error(name, f"is no parameter of this route; {allowed}")
        elif name in seen:
            yield FieldError(name, "is given more than once")
        elif "\x00" in value:
            yield FieldError(name, "must not hold a NUL character")
        seen.add(name)
