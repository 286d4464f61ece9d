"""Opaque cursors of pages: where the next page begins."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime, timedelta, timezone

from domain.errors import FieldError, InvalidInput

_ID = re.compile(r"[0-9a-f-]{36}")


def encode_cursor(position: str) -> str:
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """Raises `InvalidInput` for a cursor that `encode_cursor` has not made."""
    try:
        position = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise bad_cursor() from error
    if encode_cursor(position) != cursor:
        raise bad_cursor()
    return position


def decode_number(cursor: str) -> int:
    """A cursor that holds a row's number."""
    position = decode_cursor(cursor)
    if not position.isascii() or not position.isdigit() or len(position) > 18:
        raise bad_cursor()
    return int(position)


def decode_id(cursor: str) -> str:
    """A cursor that holds a row's id (a UUID)."""
    position = decode_cursor(cursor)
    if not _ID.fullmatch(position):
        raise bad_cursor()
    return position


def encode_moment(at: datetime, row_id: str) -> str:
    """A cursor in an order by moment, and by id where moments are equal."""
    return encode_cursor(f"{at.astimezone(timezone.utc).isoformat()} {row_id}")


def decode_moment(cursor: str) -> tuple[datetime, str]:
    """Raises `InvalidInput` for a cursor that `encode_moment` has not made."""
    moment, _, row_id = decode_cursor(cursor).partition(" ")
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        raise bad_cursor() from None
    if at.utcoffset() != timedelta(0) or not _ID.fullmatch(row_id):
        raise bad_cursor()
    return at, row_id


def bad_cursor() -> InvalidInput:
    message = "not a cursor of this list: take it from the Link header of the page before"
    return InvalidInput("the cursor cannot be used", [FieldError("cursor", message)])
