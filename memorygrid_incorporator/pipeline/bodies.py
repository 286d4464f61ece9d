"""Bodies as they are sent, checked for what JSON cannot carry: nothing is dropped or changed in silence."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from memorygrid_incorporator.pipeline.texts import LONGEST, cleaned, described

_BEYOND_A_DOUBLE = 2**1024


class NotSendable(ValueError):
    """An argument holds what JSON cannot carry. The message says where it is; nothing was sent.

    That is a NaN, an infinity or a number beyond a double, an object that msgspec cannot encode, a mapping that holds
    itself or two keys of one name, a lone surrogate.
    """


def encoded(body: msgspec.Struct) -> bytes:
    """The body as JSON. Raises `NotSendable`."""
    strict = _Plain()
    sent = {name: _of_argument(getattr(body, name), name, strict) for name in body.__struct_fields__}
    return msgspec.json.encode(msgspec.structs.replace(body, **sent))


def mended(value: Mapping[str, object], name: str) -> tuple[Mapping[str, object], Sequence[str]]:
    """A mapping that can be sent, and what could not be sent as it was; in its place stands a text that says so."""
    mending = _Mended()
    try:
        made = _of_argument(value, name, mending)
    except NotSendable as error:
        return not_sent(str(error))
    except Exception as error:  # whatever an object of the caller's does while it is read
        return not_sent(f"{name} cannot be read: {described(error)}")
    if isinstance(made, dict):
        return made, mending.faults
    return not_sent(*(mending.faults or [f"{name} is of type {type(value).__name__}, and must be a mapping"]))


def not_sent(*faults: str) -> tuple[Mapping[str, object], Sequence[str]]:
    """What stands in the place of a whole mapping that cannot be sent, and why."""
    return {"not_sent": cleaned("; ".join(faults)[:LONGEST])}, faults


def _of_argument(value: object, name: str, made: _Plain) -> object:
    try:
        return made.plain(value, name)
    except RecursionError as error:
        raise NotSendable(f"{name} holds itself, or is nested too deeply to be sent as JSON") from error


class _Plain:
    """Makes values of JSON's own types; what is wrong is named with its path: `system_state.load[0] is nan`."""

    def plain(self, value: object, path: str) -> object:
        """Raises `NotSendable`."""
        if value is None or isinstance(value, int):
            return value if value is None or isinstance(value, bool) else _whole(value, path)
        if isinstance(value, str):
            return self.text(value, path)
        if isinstance(value, float):
            return _number(value, path)
        if isinstance(value, Mapping):
            return self._object(value, path)
        if isinstance(value, list | tuple | set | frozenset | deque):
            return [self.plain(one, f"{path}[{number}]") for number, one in enumerate(value)]
        return self.plain(_of_object(value, path), path)

    def text(self, value: str, path: str) -> str:
        """Raises `NotSendable`."""
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise NotSendable(
                f"{path} is a text that is no Unicode, with a lone surrogate: it cannot be sent"
            ) from error
        return str.__str__(value)

    def _object(self, value: Mapping[object, object], path: str) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, one in _items(value, path):
            name = self.text(key, f"a key of {path}") if isinstance(key, str) else _name(key, path)
            if name in found:
                raise NotSendable(f"{path} has two keys that are both {name!r} in JSON")
            found[name] = self.plain(one, f"{path}.{name}")
        return found


class _Mended(_Plain):
    """Puts a text in the place of what cannot be sent, and cleans the texts; `faults` are what was wrong."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def plain(self, value: object, path: str) -> object:
        try:
            return super().plain(value, path)
        except NotSendable as error:
            self.faults.append(str(error))
            return cleaned(f"not sent: {error}"[:LONGEST])

    def text(self, value: str, path: str) -> str:
        return cleaned(value)


def _whole(value: int, path: str) -> int:
    if abs(value) >= _BEYOND_A_DOUBLE:
        raise NotSendable(f"{path} is a number beyond a double, which no service takes. Send it as a text")
    return int(value)


def _number(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise NotSendable(f"{path} is {value}: JSON has no such number. Leave it out, or send None or a text")
    return float(value)


def _items(value: Mapping[object, object], path: str) -> Iterable[tuple[object, object]]:
    if isinstance(value, dict):
        return value.items()
    try:
        return list(value.items())
    except Exception as error:
        raise NotSendable(f"{path} cannot be read: {error}") from error


def _name(key: object, path: str) -> str:
    """The key as a name in JSON: a number, a date, a UUID or the like."""
    if isinstance(key, float) and not math.isfinite(key):
        raise NotSendable(f"a key of {path} is {key}: JSON has no such number")
    if key is not None and not isinstance(key, bool):
        try:
            (name,) = msgspec.to_builtins({key: None}, str_keys=True)
        except (TypeError, ValueError):
            name = None
        if isinstance(name, str):
            return name
    raise NotSendable(f"a key of {path} is {key!r:.40}: JSON has texts as keys, and none of type {type(key).__name__}")


def _of_object(value: object, path: str) -> object:
    """A date, a UUID, a dataclass: whatever msgspec has a form for."""
    try:
        return msgspec.to_builtins(value, enc_hook=_within)
    except (TypeError, ValueError) as error:
        kind = type(value).__name__
        raise NotSendable(f"{path} is an object of type {kind}, which JSON has no form for ({error})") from error


def _within(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it holds one of type {type(value).__name__}")
