"""What comes in as Python objects is held to the same rules, in the same words, as a body of the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TypeVar

import msgspec

from domain.errors import InvalidInput
from domain.json_values import faults
from entrypoints.http.misfits import MOST, field_error, misfits, refusal

StructT = TypeVar("StructT", bound=msgspec.Struct)


def checked(given: StructT, shape: type[StructT], name: str) -> StructT:
    """The same with each value as its field has it, e.g. a flag in place of its text.

    Raises `InvalidInput` with all that keeps it from being a `shape` that JSON can hold.
    """
    return check(fields_of(given, shape), shape, name)


def check(fields: Mapping[str, object], shape: type[StructT], name: str) -> StructT:
    """A `shape` of these fields, a body that people know as `name`. Raises `InvalidInput` where they are none."""
    found = [field_error(f"${place}", what) for place, what in islice(faults(dict(fields)), MOST)]
    if not found:
        try:
            return msgspec.convert(fields, shape)
        except msgspec.ValidationError as error:
            found = misfits(fields, shape) or [field_error("$", str(error))]
    raise refusal(name, found)


def fields_of(given: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, object]:
    """The fields that are set, by name. Raises `InvalidInput` where what is given is of another kind."""
    if type(given) is not kind:
        raise InvalidInput(f"a {type(given).__name__} is no {kind.__name__}")
    return {name: value for name, value in msgspec.structs.asdict(given).items() if value is not msgspec.UNSET}
