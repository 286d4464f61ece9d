"""Reading a list of a store to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


async def all_pages(read: Callable[[str | None], Awaitable[tuple[Sequence[Item], str | None]]]) -> list[Item]:
    """All items in order. `read` gives the page at a cursor, and where the next one begins."""
    found, cursor = await read(None)
    items = list(found)
    while cursor is not None:
        found, cursor = await read(cursor)
        items.extend(found)
    return items
