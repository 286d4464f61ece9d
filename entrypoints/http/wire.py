"""Reading bodies strictly. What is not of the documented shape raises `InvalidInput`."""

from __future__ import annotations

import re
from typing import Any, Generic, TypeVar

import msgspec
from litestar.types import Receive, Scope

from domain.errors import FieldError, InvalidInput
from entrypoints.http import strictness
from entrypoints.http.misfits import field_error, misfits, refusal
from entrypoints.http.refusals import BadRequest, BodyTooLarge, TooBusy, UnsupportedMediaType

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


class BodyLimit:
    """How many bytes a body may have, and how many of large bodies are held at once, in all requests together.

    Decoded, a body may take thirty times its size: it counts until its request has been answered.
    """

    def __init__(self, most: int, held: int = 32 << 20) -> None:
        self.most = most
        self._free = max(held, most)

    def take(self, size: int) -> int:
        """Counts a body of this size in; what to give back. Raises `TooBusy`."""
        if size <= _SMALL:
            return 0
        if size > self._free:
            raise TooBusy("the service has as many large bodies to work on as it takes at once: try again")
        self._free -= size
        return size

    def give_back(self, size: int) -> None:
        self._free += size


#: Bytes of a body that is not worth counting.
_SMALL = 64 << 10


async def read_body(receive: Receive, most: int) -> bytes:
    """The body's bytes, at most `most`. Raises `BodyTooLarge`."""
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


def announced_size(scope: Scope, most: int) -> int:
    """The bytes that a body will have by its headers, `most` where they do not say.

    Raises `UnsupportedMediaType` and `BodyTooLarge`.
    """
    size = 0
    for name, value in scope["headers"]:
        if name == b"content-type":
            if value not in _PLAIN_JSON and not _is_json(value):
                raise UnsupportedMediaType("the body must be application/json in UTF-8")
        elif name == b"content-length":
            size = int(value) if value.isdigit() else most
            if size > most:
                raise _too_large(most)
        elif name == b"transfer-encoding":
            size = most
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise UnsupportedMediaType("the body must not be compressed")
    return size


def _is_json(content_type: bytes) -> bool:
    kind, _, rest = content_type.decode("latin-1").lower().partition(";")
    parameters = [one.strip() for one in rest.split(";") if one.strip()]
    json_kind = re.fullmatch(r"application/([a-z0-9!#$&^_.-]+\+)?json", kind.strip()) is not None
    charsets = [one.partition("=")[2].strip('"') for one in parameters if one.startswith("charset=")]
    return json_kind and all(charset in ("utf-8", "utf8", "us-ascii") for charset in charsets)


def _too_large(most: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body may have at most {most} bytes (MG_MAX_BODY_BYTES)")
