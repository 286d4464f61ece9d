"""What the terminal shows. Lessons, alerts and errors hold other people's text: none of it is ever interpreted."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

#: Joiners, which several scripts and emoji need, are the only invisible characters that stay.
_KEPT = frozenset("\n\t\u200c\u200d")
_UNPRINTABLE_IN_JSON = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_UNBROKEN = 10_000
#: Words of fewer cells are not broken in a table.
_BROKEN_FROM = 8


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
    """A console on which nothing in a printed string is markup. Colour and width are the terminal's.

    `widest` bounds the width, for prose. Without it, what is piped into another program is not wrapped at all.
    """
    made = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if widest is not None:
        made.width = min(made.width, widest)
    elif not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _UNBROKEN
    return made


def say(text: str | Text = "", style: str = "") -> None:
    """A line on standard output."""
    console().print(text if isinstance(text, Text) else plain(text, style), soft_wrap=True)


def remark(text: str, style: str = "") -> None:
    """A line beside the answer, on standard error."""
    console(stderr=True).print(plain(text, style), soft_wrap=True)


def complain(message: str) -> None:
    """Why the command has not succeeded, on standard error."""
    remark(f"memorygrid: {message}", "bold red")


def print_json(value: object) -> None:
    """`value` as indented JSON, with invisible characters as JSON's own escapes."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    out = console().file
    out.write(_UNPRINTABLE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    out.flush()


def grid(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, whole: Sequence[str] = ()) -> Table:
    """A table that fits its width, whatever is in it. The columns named in `whole` are the last to be broken."""
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name in whole)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else plain(cell) for cell in row))
    return table


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str | Text]], *, whole: Sequence[str] = ()) -> None:
    """The rows as a table; one below the other where the terminal is too narrow; a remark where there are none."""
    on = console()
    if not rows:
        remark("none")
    elif _least_width(columns, rows, whole) <= on.width:
        put(on, grid(columns, rows, whole=whole))
    else:
        for number, row in enumerate(rows):
            if number:
                say()
            print_fields((name, cell) for name, cell in zip(columns, row, strict=True) if name and cell)


def _least_width(columns: Sequence[str], rows: Sequence[Sequence[str | Text]], whole: Sequence[str]) -> int:
    """The cells below which a table of these columns cannot be read."""
    return sum(
        1 + max(_least_width_of(cell, whole=name in whole) for cell in (name, *(row[at] for row in rows)))
        for at, name in enumerate(columns)
    )


def _least_width_of(cell: str | Text, *, whole: bool) -> int:
    text = visible(str(cell))
    return cell_len(text) if whole else min(_BROKEN_FROM, max(map(cell_len, text.split()), default=0))


def print_fields(fields: Iterable[tuple[str, str | Text]]) -> None:
    """Names and values, one pair a line."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in fields:
        table.add_row(Text(name, "bold"), value if isinstance(value, Text) else plain(value))
    put(console(), table)


def put(on: Console, what: RenderableType) -> None:
    """Prints it without the spaces to the right that a layout leaves behind."""
    with on.capture() as captured:
        on.print(what)
    on.file.write("\n".join(line.rstrip(" ") for line in captured.get().split("\n")))
    on.file.flush()


def moment(at: datetime) -> str:
    """To the minute, in UTC."""
    return at.strftime("%Y-%m-%d %H:%M")


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
