"""The code blocks of a Markdown page, each with what the page says (to a test, in a comment above it) about running it.

<!-- not run: why -->      the block is for reading; the reason is there for all to see
<!-- output -->            what the command above it prints; `…` stands for anything
<!-- status: 404 -->       the command's requests are answered with this status, not with success
<!-- shape: QueryInput --> the JSON is one of these
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parents[2]

_FENCE = re.compile(r"^(?P<indent> *)(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_COMMENT = re.compile(r"<!-- (?P<name>not run|output|status|shape)(?:: (?P<value>.+?))? -->")
_TITLE = re.compile(r'title="([^"]+)"')


class Block(NamedTuple):
    """`line` is that of the opening fence; `title` is the file's name where the block is a file."""

    page: str
    line: int
    language: str
    title: str
    said: dict[str, str]
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    return [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted((PROJECT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT))


def blocks_of(page: Path) -> list[Block]:
    return list(_blocks(page.read_text(encoding="utf-8").splitlines(), name_of(page)))


def _blocks(lines: list[str], page: str) -> Iterator[Block]:
    said: dict[str, str] = {}
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            comment = _COMMENT.search(lines[at])
            if comment is not None:
                said[comment["name"]] = comment["value"] or ""
            elif lines[at].strip():
                said = {}
            at += 1
            continue
        inside: list[str] = []
        start = at
        at += 1
        while at < len(lines) and lines[at].strip() != fence["mark"]:
            inside.append(lines[at].removeprefix(fence["indent"]))
            at += 1
        at += 1
        language, _, rest = fence["info"].strip().partition(" ")
        title = _TITLE.search(rest)
        yield Block(page, start + 1, language, title[1] if title else "", said, "\n".join(inside) + "\n")
        said = {}
