"""Opaque cursors of pages: where the next page begins."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime, timedelta, timezone

from domain.errors import FieldError, InvalidInput

_ID = re.compile(r"[0-9a-f-]{36}")


class Cursors:
    """The cursors of one list, which knows them by its name. Another list's raises `InvalidInput`, as nonsense does.

    A place in a list is the row's own number, id or moment, whatever filters the list has.
    """

    def __init__(self, name: str) -> None:
        self._mark = f"{name} "

    def encode(self, place: str | int) -> str:
        """The cursor of what comes after this place."""
        return base64.urlsafe_b64encode(f"{self._mark}{place}".encode()).decode().rstrip("=")

    def number(self, cursor: str) -> int:
        """The row's number that the cursor holds."""
        place = self._place(cursor)
        if not place.isascii() or not place.isdigit() or len(place) > 18:
            raise _bad_cursor()
        return int(place)

    def id(self, cursor: str) -> str:
        """The row's id (a UUID) that the cursor holds."""
        place = self._place(cursor)
        if not _ID.fullmatch(place):
            raise _bad_cursor()
        return place

    def encode_moment(self, at: datetime, row_id: str) -> str:
        """A cursor in an order by moment, and by id where moments are equal."""
        return self.encode(f"{at.astimezone(timezone.utc).isoformat()} {row_id}")

    def moment(self, cursor: str) -> tuple[datetime, str]:
        """The moment and the id that the cursor holds."""
        moment, _, row_id = self._place(cursor).partition(" ")
        try:
            at = datetime.fromisoformat(moment)
        except ValueError:
            raise _bad_cursor() from None
        if at.utcoffset() != timedelta(0) or not _ID.fullmatch(row_id):
            raise _bad_cursor()
        return at, row_id

    def _place(self, cursor: str) -> str:
        try:
            text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        except (binascii.Error, ValueError) as error:
            raise _bad_cursor() from error
        place = text.removeprefix(self._mark)
        if place == text or self.encode(place) != cursor:
            raise _bad_cursor()
        return place


def _bad_cursor() -> InvalidInput:
    message = "not a cursor of this list: take it from the Link header of the page before"
    return InvalidInput("the cursor cannot be used", [FieldError("cursor", message)])
