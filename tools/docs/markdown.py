"""Small pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

WRITTEN = "<!-- Written by `python -m tools.docs`; change the code that it is made from. -->"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: str) -> str:
    """As code. A bar, which a table would take for the end of the cell, becomes an "or" between two pieces."""
    return f"`{text.replace(' | ', '` or `')}`"


def page(*parts: str) -> str:
    """Parts with an empty line between them, and a line end at the end."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
