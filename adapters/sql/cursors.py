"""Opaque cursors of pages: where the next page begins."""

from __future__ import annotations

import base64
import binascii
import re

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


def bad_cursor() -> InvalidInput:
    message = "not a cursor of this list: take it from the Link header of the page before"
    return InvalidInput("the cursor cannot be used", [FieldError("cursor", message)])
