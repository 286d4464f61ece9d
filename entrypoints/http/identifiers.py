"""Ids and cursors as they come in."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from domain.errors import NotFound
from entrypoints.http.operation import Call

#: Where a page ends, as the service gave it out.
Cursor = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=1_000,
        pattern="^[!-~]+$",
        description="Where the page before ended. Take it, with the whole address, from that page's `Link` header.",
    ),
]
Limit = Annotated[
    int, msgspec.Meta(ge=1, le=1_000, description="The most items of a page; one of large items ends sooner.")
]

#: Headers of an answer that is one page of a list.
PAGED = {"Link": '`<address>; rel="next"`: the next page, with the same filters. Absent on the last page.'}

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def uuid_parameter(call: Call, name: str, unknown: type[NotFound]) -> str:
    """An id in the path. What is no UUID cannot be known and raises `unknown`."""
    text = call.path_parameter(name)
    if not _UUID.fullmatch(text):
        raise unknown("an id is a UUID in lower case, as the service gave it out")
    return text
