"""What a Markdown text says about itself: its first heading and its first paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(?=[ \t]|$)")
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")


def first_heading(body: str) -> str:
    """The text of the first `#` to `######` heading outside fenced code, on one line; empty where there is none."""
    for line in _prose(body):
        heading = _HEADING.match(line)
        if heading is not None and (text := _without_closing_marks(_one_line(line[heading.end() :]))):
            return text
    return ""


def first_paragraph(body: str) -> str:
    """The first lines of prose, without headings, code and HTML tags, on one line; empty where there are none."""
    found: list[str] = []
    for line in _prose(body):
        text = "" if _HEADING.match(line) else _one_line(_TAG.sub(" ", line))
        if text:
            found.append(text)
        elif found:
            break
    return " ".join(found)


def _prose(body: str) -> Iterator[str]:
    """The lines outside fenced code; an empty one stands for each fence."""
    fence = ""
    for line in body.splitlines():
        mark = _FENCE.match(line)
        if mark is None:
            if not fence:
                yield line
        elif not fence:
            fence = mark[1]
            yield ""
        elif mark[1].startswith(fence) and not mark[2].strip():
            fence = ""


def _without_closing_marks(heading: str) -> str:
    """`Meaning ##` is the heading `Meaning`, while `C#` is `C#`."""
    text = heading.rstrip("#")
    return text.rstrip() if not text or text.endswith(" ") else heading


def _one_line(text: str) -> str:
    return " ".join(text.split())
