"""Bodies as they are sent, checked for what JSON cannot carry: nothing is dropped or changed in silence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import msgspec


class NotSendable(ValueError):
    """An argument holds what JSON cannot carry. The message names it; nothing was sent.

    That is a NaN or an infinity, an object that msgspec cannot encode, a mapping that holds itself, a lone surrogate.
    """


def encoded(body: msgspec.Struct) -> bytes:
    """The body as JSON. Raises `NotSendable`."""
    for name in body.__struct_fields__:
        _check(name, getattr(body, name))
    return msgspec.json.encode(body, enc_hook=_plain)


def _check(name: str, value: object) -> None:
    try:
        msgspec.json.encode(value, enc_hook=_plain)
        found = next(_not_finite(msgspec.to_builtins(value, str_keys=True, enc_hook=_plain), name), None)
    except RecursionError as error:
        raise NotSendable(f"{name} holds itself, or is nested too deeply to be sent as JSON") from error
    except UnicodeEncodeError as error:
        raise NotSendable(f"{name} holds a text that is no Unicode, a lone surrogate: it cannot be sent") from error
    except (TypeError, ValueError) as error:
        raise NotSendable(f"{name} cannot be sent as JSON: {error}") from error
    if found is not None:
        raise NotSendable(f"{found}: JSON has no such number. Leave it out, or send None or a text")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"it holds an object of type {type(value).__name__}, which JSON has no form for")


def _not_finite(value: object, path: str) -> Iterator[str]:
    """Each number that is none, with its path: `system_state.load[0] is nan`."""
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{path} is {value}"
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _not_finite(one, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _not_finite(one, f"{path}[{number}]")
