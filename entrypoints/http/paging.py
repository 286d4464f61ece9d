"""Pages of lists: no longer than asked for, and no larger than is good for anybody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from entrypoints.http.answers import Answer, address
from entrypoints.http.operation import Call

T = TypeVar("T")

#: Reads so many items from where a cursor stands; they and the cursor of those that follow.
Read = Callable[[int, str | None], Awaitable[tuple[Sequence[T], str | None]]]

#: Items that are read at once: of the largest kind they take some tens of megabytes.
_STEP = 32
#: Bytes after which a page ends, whatever its limit; the next page goes on from there.
_LARGEST = 8 << 20

_encode = msgspec.json.Encoder().encode


class Paged(Protocol):
    """The parameters of a list: how many items from where on."""

    @property
    def limit(self) -> int: ...

    @property
    def cursor(self) -> str | None: ...


async def page(
    call: Call, parameters: Paged, given: dict[str, str], read: Read[T], shown: Callable[[T], object]
) -> Answer:
    """A JSON array of what is `shown` of each item; a `Link` header leads to the next page while there is more.

    `given` are the request's own parameters, so that the next page has the same filters and limit.
    """
    items: list[bytes] = []
    size, limit, cursor = 0, parameters.limit, parameters.cursor
    while True:
        found, cursor = await read(min(limit - len(items), _STEP), cursor)
        encoded = [_encode(shown(one)) for one in found]
        items += encoded
        size += sum(map(len, encoded))
        if cursor is None or len(items) >= limit or size >= _LARGEST:
            break
    body = b"[" + b",".join(items) + b"]"
    if cursor is None:
        return Answer(body)
    query = urlencode({**given, "cursor": cursor}).encode("ascii")
    return Answer(body, headers=[(b"link", b'<%s?%s>; rel="next"' % (address(call.path), query))])
