"""Texts that nobody has written for the service, such as an error's: made such that every service takes them."""

from __future__ import annotations

import traceback

LONGEST = 500


def cleaned(text: str) -> str:
    """The text with a mark in the place of what no service takes: NUL characters and lone surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def described(error: BaseException) -> str:
    """Type and message, bounded, also of an error that cannot even be printed."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    return cleaned(text[:LONGEST])
