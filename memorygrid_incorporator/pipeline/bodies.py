"""Bodies as they are sent, checked for what JSON cannot carry: nothing is dropped or changed in silence."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping

import msgspec


class NotSendable(ValueError):
    """An argument holds what JSON cannot carry. The message says where it is; nothing was sent.

    That is a NaN or an infinity, an object that msgspec cannot encode, a mapping that holds itself or two keys of one
    name, a lone surrogate.
    """


def encoded(body: msgspec.Struct) -> bytes:
    """The body as JSON. Raises `NotSendable`."""
    sent = {name: _of_argument(getattr(body, name), name) for name in body.__struct_fields__}
    return msgspec.json.encode(msgspec.structs.replace(body, **sent))


def _of_argument(value: object, name: str) -> object:
    try:
        return _plain(value, name)
    except RecursionError as error:
        raise NotSendable(f"{name} holds itself, or is nested too deeply to be sent as JSON") from error


def _plain(value: object, path: str) -> object:
    """`value` in JSON's own types; what is wrong within it is named with its path: `system_state.load[0] is nan`."""
    if value is None or isinstance(value, int):
        return value if value is None or isinstance(value, bool) else int(value)
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, float):
        return _number(value, path)
    if isinstance(value, Mapping):
        return _object(value, path)
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [_plain(one, f"{path}[{number}]") for number, one in enumerate(value)]
    return _of_object(value, path)


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise NotSendable(f"{path} is a text that is no Unicode, with a lone surrogate: it cannot be sent") from error
    return str.__str__(value)


def _number(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise NotSendable(f"{path} is {value}: JSON has no such number. Leave it out, or send None or a text")
    return float(value)


def _object(value: Mapping[object, object], path: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, one in _items(value, path):
        name = _text(key, f"a key of {path}") if isinstance(key, str) else _name(key, path)
        if name in found:
            raise NotSendable(f"{path} has two keys that are both {name!r} in JSON")
        found[name] = _plain(one, f"{path}.{name}")
    return found


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
        built = msgspec.to_builtins(value, enc_hook=_within)
    except (TypeError, ValueError) as error:
        kind = type(value).__name__
        raise NotSendable(f"{path} is an object of type {kind}, which JSON has no form for ({error})") from error
    return _plain(built, path)


def _within(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it holds one of type {type(value).__name__}")
