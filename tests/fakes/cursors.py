"""Pages of rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from domain.errors import InvalidInput

Row = TypeVar("Row")


def page(rows: Sequence[tuple[int, Row]], limit: int, cursor: str | None) -> tuple[list[Row], str | None]:
    """Up to `limit` of the rows, newest first, and the cursor of the next page.

    Each row comes with the number that it was stored under.
    """
    before = _number(cursor)
    found = sorted((row for row in rows if before is None or row[0] < before), key=lambda row: -row[0])
    more = len(found) > limit
    return [row for _, row in found[:limit]], f"before-{found[limit - 1][0]}" if more else None


def page_after(
    rows: Sequence[tuple[tuple[str, str], Row]], limit: int, cursor: str | None
) -> tuple[list[Row], str | None]:
    """Up to `limit` of the rows, by the place that each comes with, and the cursor of the next page."""
    last = _place(cursor)
    found = sorted((row for row in rows if last is None or row[0] > last), key=lambda row: row[0])
    more = len(found) > limit
    return [row for _, row in found[:limit]], "after_" + "_".join(found[limit - 1][0]) if more else None


def _place(cursor: str | None) -> tuple[str, str] | None:
    if cursor is None:
        return None
    word, _, place = cursor.partition("_")
    first, _, second = place.partition("_")
    if word != "after" or not second:
        raise InvalidInput(f"the cursor {cursor!r} is none of ours")
    return first, second


def _number(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    word, _, number = cursor.partition("-")
    if word != "before" or not number.isascii() or not number.isdigit():
        raise InvalidInput(f"the cursor {cursor!r} is none of ours")
    return int(number)
