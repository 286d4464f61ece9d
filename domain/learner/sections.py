"""Which texts of a lesson are embedded: its title, and its title with each section of its body.

A section is what stands under one Markdown heading; fenced code never starts one. Long sections are split between
paragraphs, then lines, then words; the number of sections is bounded, whatever the body.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

LONGEST_SECTION = 1_200
"""Characters (about 300 words or the window of a small sentence model); longer sections are split."""

MOST_SECTIONS = 24
"""Of one lesson. Neighbouring sections of a longer body are joined."""


def texts_to_embed(title: str, body: str) -> list[str]:
    """The title, and the title with each section of the body: 1 to 1 + `MOST_SECTIONS` texts."""
    return [title, *(f"{title}\n{section}" for section in sections(body))]


def sections(body: str) -> list[str]:
    """The sections of `body` in order, none of them blank, at most `MOST_SECTIONS`."""
    return fitted(_under_headings(body), MOST_SECTIONS)


def fitted(texts: Sequence[str], most: int) -> list[str]:
    """The texts in order, long ones split: at most `most`, neighbouring pieces joined where there would be more."""
    return _joined([piece for text in texts for piece in _fitting(text)], most)


def _under_headings(body: str) -> list[str]:
    """Splits before each heading; a heading with nothing under it goes with the next one."""
    found: list[list[str]] = [[]]
    fence = ""
    has_text = False
    for line in body.splitlines():
        heads = not fence and _HEADING.match(line) is not None
        if heads and has_text:
            found.append([])
            has_text = False
        fence = _fence_after(fence, line)
        has_text = has_text or (bool(line.strip()) and not heads)
        found[-1].append(line)
    return [text for lines in found if (text := "\n".join(lines).strip())]


def _fence_after(fence: str, line: str) -> str:
    """The code fence that is open after `line` (empty: none), when `fence` was open before it."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    closes = mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line[mark.end() :].strip()
    return "" if closes else fence


def _fitting(section: str) -> list[str]:
    """Pieces of at most `LONGEST_SECTION` characters, cut at the coarsest boundary that serves."""
    pieces = []
    rest = section
    while len(rest) > LONGEST_SECTION:
        cut = _last_boundary(rest[:LONGEST_SECTION])
        pieces.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    return [piece for piece in (*pieces, rest) if piece]


def _last_boundary(window: str) -> int:
    """Where to cut: after the last blank line, line end or space in the second half of `window`, else at its end."""
    for boundary in ("\n\n", "\n", " "):
        at = window.rfind(boundary, len(window) // 2)
        if at > 0:
            return at
    return len(window)


def _joined(pieces: list[str], most: int) -> list[str]:
    """At most `most` texts of about equal length, made of neighbouring pieces."""
    if len(pieces) <= most:
        return pieces
    total = sum(map(len, pieces))
    groups: list[list[str]] = [[] for _ in range(most)]
    start = 0
    for piece in pieces:
        groups[start * most // total].append(piece)
        start += len(piece)
    return ["\n\n".join(group) for group in groups if group]
