"""Environment variables: how the text of each is read, and what it allows."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar, cast
from urllib.parse import urlsplit

from adapters.sql.dialects import parse_dsn
from adapters.targets.webhook_signer import WebhookSigner
from domain.errors import InvalidConfiguration
from domain.incorporator.outcome import AllowedActions
from entrypoints.http.access import AccessPolicy

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


class Variable(Generic[T]):
    """A variable's name, how its text is read, and its value where it is unset or empty."""

    def __init__(self, name: str, read: Callable[[str], T], default: T) -> None:
        self.name = name
        self.default = default
        self._read = read

    def __call__(self) -> T:
        """What stands in the environment: a text yet, which `value_of` reads together with all others."""
        text = os.environ.get(self.name, "").strip()
        return cast("T", text) if text else self.default

    def value_of(self, given: object) -> T:
        """The value, from one or from a text. Raises `InvalidConfiguration`, which names the variable."""
        default = self.default
        if type(given) is type(default) and given == default:
            return default
        if isinstance(given, Enum):
            given = given.value
        if isinstance(given, str | int | float | os.PathLike):
            try:
                return self._read(str(given))
            except InvalidConfiguration as error:
                detail = error.detail.removeprefix(f"{self.name}: ")
                raise InvalidConfiguration(f"{self.name}: {detail}") from None
        if isinstance(given, type(default)):
            return given
        raise InvalidConfiguration(f"{self.name}: a {type(given).__name__} is no value of it")


def one_of(kind: type[E]) -> Callable[[str], E]:
    def read(text: str) -> E:
        for member in kind:
            if str(member.value).lower() == text.lower():
                return member
        allowed = ", ".join(str(member.value) for member in kind)
        raise InvalidConfiguration(f"{text!r} is not one of {allowed}")

    return read


def whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise InvalidConfiguration(f"{text!r} is not a whole number from {least} to {most}")
        return value

    return read


def number(least: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise InvalidConfiguration(f"{text!r} is not a number from {least:g} to {most:g}")
        return value

    return read


def dsn(text: str) -> str:
    parse_dsn(text)
    return text


def address(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # which may quote a part of a password
        usable = False
    if not usable:
        raise InvalidConfiguration("expected an address that begins with http:// or https:// and names a host")
    if parts.query or parts.fragment:
        raise InvalidConfiguration("expected an address without ? and #: paths are put at its end")
    return text


def names_user(address: str) -> bool:
    """Whether an address holds a user or a password; one that is none does not."""
    try:
        return "@" in urlsplit(address).netloc
    except ValueError:
        return False


def header(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise InvalidConfiguration("expected printable ASCII characters, as the values of HTTP headers are")
    return text


def keys(text: str) -> str:
    AccessPolicy.parse(text)
    return text


def hosts(text: str) -> str:
    AccessPolicy.parse(allowed_hosts=text)
    return text


def actions(text: str) -> AllowedActions:
    names = tuple(one.strip() for one in text.split(",") if one.strip())
    if not names or not all(one.isprintable() for one in names):
        raise InvalidConfiguration("expected the names of actions, separated by commas")
    return AllowedActions(names)


def webhook_secret(text: str) -> str:
    WebhookSigner(text)
    return text
