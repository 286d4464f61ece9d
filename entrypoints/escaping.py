"""Text of other people on one line: nothing in it can forge a line or drive a terminal."""

from __future__ import annotations


def escaped(text: str) -> str:
    """Line breaks, escape sequences and whatever else is not printable as its escape; the rest as it is."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
