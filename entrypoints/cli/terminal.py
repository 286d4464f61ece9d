"""What the terminal shows. Lessons, alerts and errors hold other people's text: none of it is ever interpreted."""

from __future__ import annotations

import unicodedata

from rich.console import Console
from rich.text import Text

#: Joiners, which several scripts and emoji need, are the only invisible characters that stay.
_KEPT = frozenset("\n\t\u200c\u200d")


def visible(text: str) -> str:
    """`text` with whatever could steer a terminal or reorder a line shown as an escape; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text.replace("\r\n", "\n")))


def on_one_line(text: str) -> str:
    """`text` as one visible line."""
    return " ".join(visible(text).split())


def plain(text: str, style: str = "") -> Text:
    """`text` for a console or a table, without any markup in it taking effect."""
    return Text(visible(text), style=style)


def console(*, stderr: bool = False, widest: int | None = None) -> Console:
    """A console on which nothing in a printed string is markup. Colour and width are the terminal's (piped: none, 80).

    `widest` bounds the width, for prose.
    """
    made = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if widest is not None and made.width > widest:
        made.width = widest
    return made


def complain(message: str) -> None:
    """One sentence on standard error."""
    console(stderr=True).print(plain(f"memorygrid: {message}"), soft_wrap=True)


class Marks:
    """The signs for yes, no and attention, as the terminal's encoding allows."""

    def __init__(self, on: Console) -> None:
        ascii_only = on.options.ascii_only
        self.yes = "ok" if ascii_only else "✓"
        self.no = "NO" if ascii_only else "✗"
        self.attention = "!"


def _shown(character: str) -> str:
    if character.isprintable() or character in _KEPT:
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")
