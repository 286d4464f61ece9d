"""How the story is told: chapters, a few lines of prose, tables, and what was expected with whether it came true."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from entrypoints.cli.terminal import Marks, grid, plain, put

_INDENT = 3
_ROOMY = 76


class Narrator:
    """Writes to a console, and counts the expectations that came true and those that did not."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._marks = Marks(console)
        self._chapter = 0
        self.kept = 0
        self.broken = 0

    def title(self, text: str) -> None:
        self._console.print()
        self._put(plain(text, "bold"), 0)

    def chapter(self, title: str) -> None:
        """Begins the next chapter."""
        self._chapter += 1
        self._console.print()
        self._put(plain(f"{self._chapter}. {title}", "bold cyan"), 0)

    def say(self, text: str) -> None:
        """A paragraph."""
        self._put(plain(text), _INDENT)

    def point(self, name: str, text: str) -> None:
        """What one word of the story means."""
        self._put(_hung(Text("-"), Text.assemble((name, "bold"), ": ", plain(text))), 2 * _INDENT)

    def quote(self, text: str) -> None:
        """Somebody else's words: an alert, an instruction."""
        self._put(_hung(Text(">"), plain(text, "italic")), 2 * _INDENT)

    def show(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table that fits the width, whatever is in it; the first column is the last one to be broken."""
        roomy = self._console.width >= _ROOMY
        table = grid(columns, rows, whole=columns[:1] if roomy else ())
        self._console.print()
        self._put(table, _INDENT)
        self._console.print()

    def expect(self, is_so: bool, text: str) -> None:
        """What should be so by now, and whether it is."""
        self.kept += is_so
        self.broken += not is_so
        mark, style = (self._marks.yes, "bold green") if is_so else (self._marks.no, "bold red")
        self._put(_hung(Text(mark, style), plain(text)), _INDENT)

    def commands(self, lines: Sequence[str]) -> None:
        """Commands to copy: never wrapped."""
        for line in lines:
            self._console.print(plain(" " * 2 * _INDENT + line), soft_wrap=True)

    def _put(self, what: RenderableType, indent: int) -> None:
        put(self._console, Padding(what, (0, 0, 0, indent)))


def _hung(mark: Text, words: Text) -> RenderableType:
    """The words beside their mark, however many lines they take."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(mark, words)
    return grid
