"""Reading requests strictly: bodies and query parameters. What is not of the documented shape raises `InvalidInput`."""

from __future__ import annotations

import re
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

import msgspec
from litestar.types import Receive, Scope

from domain.errors import FieldError, InvalidInput
from entrypoints.http.refusals import BadRequest, BodyTooLarge, UnsupportedMediaType
from entrypoints.http.strictness import objection

T = TypeVar("T")
P = TypeVar("P", bound=msgspec.Struct)

_PLAIN_JSON = frozenset({b"application/json", b"application/json; charset=utf-8", b"application/json;charset=utf-8"})
_MOST_PARAMETERS = 32


class Body(Generic[T]):
    """The shape of a route's JSON body. With a `default`, an empty body stands for that."""

    def __init__(self, shape: type[T], *, default: T | None = None) -> None:
        self.shape = shape
        self.required = default is None
        self._default = default
        self._decoder = msgspec.json.Decoder(shape)

    def decode(self, body: bytes) -> T:
        """Raises `InvalidInput`."""
        if not body:
            if self._default is None:
                raise InvalidInput("a JSON body is needed", [FieldError("$", "is missing")])
            return self._default
        try:
            decoded = self._decoder.decode(body)
            if not body.isascii():
                body.decode()
        except msgspec.ValidationError as error:
            raise _misshapen(error, "body") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInput("the body is not JSON", [FieldError("$", _without_name(str(error)))]) from error
        except RecursionError as error:
            raise InvalidInput("the body is nested too deep", [FieldError("$", "is nested too deep")]) from error
        found = objection(body)
        if found is not None:
            raise InvalidInput(f"the body is not acceptable: {found.path} {found.message}", [found])
        return decoded


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """The body's bytes, at most `most`. Raises `UnsupportedMediaType` and `BodyTooLarge`."""
    _check_headers(scope, most)
    chunks: list[bytes] = []
    size = 0
    while True:
        message: Any = await receive()
        if message["type"] != "http.request":
            raise BadRequest("the client went away before its body had come")
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return b"".join([*chunks, chunk]) if chunks else chunk
        chunks.append(chunk)


def _check_headers(scope: Scope, most: int) -> None:
    for name, value in scope["headers"]:
        if name == b"content-type":
            if value not in _PLAIN_JSON and not _is_json(value):
                raise UnsupportedMediaType("the body must be application/json in UTF-8")
        elif name == b"content-length":
            if value.isdigit() and int(value) > most:
                raise _too_large(most)
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise UnsupportedMediaType("the body must not be compressed")


def read_query(scope: Scope, shape: type[P]) -> tuple[P, dict[str, str]]:
    """The query parameters as a `shape`, and those given as they came. An empty one counts as absent."""
    try:
        pairs = parse_qsl(
            scope["query_string"].decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError as error:
        raise InvalidInput(
            "the query string is not valid", [FieldError("query", "is not URL-encoded UTF-8")]
        ) from error
    names = {field.name for field in msgspec.structs.fields(shape)}
    given: dict[str, str] = {}
    for name, value in pairs:
        if name not in names:
            allowed = f"known are: {', '.join(sorted(names))}" if names else "this route takes none"
            raise _bad_parameter(name[:100], f"is no parameter of this route; {allowed}")
        if name in given:
            raise _bad_parameter(name, "is given more than once")
        if "\x00" in value:
            raise _bad_parameter(name, "must not hold a NUL character")
        given[name] = value
    given = {name: value for name, value in given.items() if value}
    try:
        found = msgspec.convert(given, shape, strict=False)
    except msgspec.ValidationError as error:
        raise _misshapen(error, "query") from error
    for name in given:
        if getattr(found, name) is None:
            raise _bad_parameter(name, "is not one of the allowed values")
    return found, given


def refuse_query(scope: Scope) -> None:
    """For routes without any parameter."""
    if scope["query_string"]:
        read_query(scope, _Nothing)


class _Nothing(msgspec.Struct):
    """No parameters."""


def _is_json(content_type: bytes) -> bool:
    kind, _, rest = content_type.decode("latin-1").lower().partition(";")
    parameters = [one.strip() for one in rest.split(";") if one.strip()]
    json_kind = re.fullmatch(r"application/([a-z0-9!#$&^_.-]+\+)?json", kind.strip()) is not None
    charsets = [one.partition("=")[2].strip('"') for one in parameters if one.startswith("charset=")]
    return json_kind and all(charset in ("utf-8", "utf8", "us-ascii") for charset in charsets)


def _too_large(most: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body may have at most {most} bytes (MG_MAX_BODY_BYTES)")


def _bad_parameter(name: str, message: str) -> InvalidInput:
    return InvalidInput(f"the query parameter {name} {message}", [FieldError(name, message)])


_PLACE = re.compile(r" - at `(.+)`$", re.DOTALL)
_MISSING = re.compile(r"missing required field `([^`]+)`")
_PATTERN = re.compile(r" matching regex .*$", re.DOTALL)


def _misshapen(error: msgspec.ValidationError, what: str) -> InvalidInput:
    """The decoder's message, split into where and what; patterns in words."""
    text = str(error)
    place = _PLACE.search(text)
    path = place.group(1) if place else "$"
    message = _PATTERN.sub(" without control characters", text[: place.start()] if place else text)
    missing = _MISSING.search(message)
    if missing:
        path, message = f"{path}.{missing.group(1)}", "is missing"
    if what == "query":
        path = path.removeprefix("$.")
    return InvalidInput(f"the {what} is not of the documented shape: {path}: {message}", [FieldError(path, message)])


def _without_name(message: str) -> str:
    return message.removeprefix("JSON is malformed: ")
