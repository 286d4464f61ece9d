"""What comes in as Python objects is held to the same rules, in the same words, as a body of the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, TypeVar

import msgspec

from domain.errors import InvalidInput
from domain.json_values import faults
from entrypoints.http.misfits import MOST, field_error, misfits, refusal

StructT = TypeVar("StructT", bound=msgspec.Struct)


def checked(given: StructT, shape: type[StructT], name: str) -> StructT:
    """The same object. Raises `InvalidInput` with all that keeps it from being a `shape` that JSON can hold."""
    if type(given) is not shape:
        raise InvalidInput(f"a {type(given).__name__} is no {shape.__name__}")
    check(fields_of(given), shape, name)
    return given


def check(fields: Mapping[str, object], shape: Any, name: str) -> None:
    """Raises `InvalidInput` where these are not the fields of a `shape`, a body that people know as `name`."""
    found = [field_error(f"${place}", what) for place, what in islice(faults(dict(fields)), MOST)]
    if not found:
        try:
            msgspec.convert(fields, shape)
        except msgspec.ValidationError as error:
            found = misfits(fields, shape) or [field_error("$", str(error))]
    if found:
        raise refusal(name, found)


def fields_of(given: msgspec.Struct) -> dict[str, object]:
    """The fields that are set, by name."""
    return {name: value for name, value in msgspec.structs.asdict(given).items() if value is not msgspec.UNSET}
