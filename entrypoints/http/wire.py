"""Reading bodies strictly. What is not of the documented shape raises `InvalidInput`."""

from __future__ import annotations

import re
from typing import Any, Generic, TypeVar

import msgspec
from litestar.types import Receive, Scope

from domain.errors import FieldError, InvalidInput
from entrypoints.http import strictness
from entrypoints.http.misfits import field_error, misfits, refusal
from entrypoints.http.refusals import BadRequest, BodyTooLarge, UnsupportedMediaType

T = TypeVar("T")

_PLAIN_JSON = frozenset({b"application/json", b"application/json; charset=utf-8", b"application/json;charset=utf-8"})


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
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._refusal(body, error) from error
        strictness.check(body)
        return decoded

    def _refusal(self, body: bytes, error: Exception) -> InvalidInput:
        errors = misfits(strictness.decoded(body), self.shape)
        return refusal("body", errors or [field_error("$", str(error))])


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


def _is_json(content_type: bytes) -> bool:
    kind, _, rest = content_type.decode("latin-1").lower().partition(";")
    parameters = [one.strip() for one in rest.split(";") if one.strip()]
    json_kind = re.fullmatch(r"application/([a-z0-9!#$&^_.-]+\+)?json", kind.strip()) is not None
    charsets = [one.partition("=")[2].strip('"') for one in parameters if one.startswith("charset=")]
    return json_kind and all(charset in ("utf-8", "utf8", "us-ascii") for charset in charsets)


def _too_large(most: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body may have at most {most} bytes (MG_MAX_BODY_BYTES)")
