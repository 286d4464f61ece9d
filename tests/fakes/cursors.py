"""Pages of rows in memory, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from domain.errors import InvalidInput

Row = TypeVar("Row")


def page(rows: Sequence[tuple[int, Row]], limit: int, cursor: str | None) -> tuple[list[Row], str | None]:
    """Up to `limit` of the rows, each with the number that it was stored under, and the cursor of the next page."""
    before = _number(cursor)
    found = sorted((row for row in rows if before is None or row[0] < before), key=lambda row: -row[0])
    more = len(found) > limit
    return [row for _, row in found[:limit]], f"before-{found[limit - 1][0]}" if more else None


def _number(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    word, _, number = cursor.partition("-")
    if word != "before" or not number.isascii() or not number.isdigit():
        raise InvalidInput(f"the cursor {cursor!r} is none of ours")
    return int(number)
