"""How a text of several lines becomes one query vector: each line is embedded alone, and counts by its words.

Embedded together, the name of a kind of problem (`kubernetes_alert`) colours what follows, and makes everything that is
asked under that name look alike; so does any other short value beside a long one.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from domain.learner.sections import fitted

MOST_PARTS: Final = 16
"""Texts that are embedded for one query; of more lines, neighbouring ones are joined."""

HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word of an identifier ends and the next one begins, as in `CrashLoopBackOff`."""

_WORD: Final = re.compile(r"(?<![^\W_])[^\W\d_]+(?:[-'’][^\W\d_]+)*(?![^\W_])")
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Characters of scripts that are written without spaces: about two of them make a word."""


class Part(NamedTuple):
    """A text to embed, and how much its vector counts."""

    text: str
    words: int


def parts(text: str) -> list[Part]:
    """The lines of `text`, long ones split: 1 to `MOST_PARTS`.

    A blank line says nothing, and one that stands within another nothing more. A text without any line is one part.
    """
    lines = [line for line in dict.fromkeys(map(str.strip, text.split("\n"))) if line]
    said = [one for one in lines if not any(one in other for other in lines if len(other) > len(one))]
    return [Part(one, _words(one)) for one in fitted(said, MOST_PARTS)] or [Part(text, 1)]


def _words(text: str) -> int:
    """At least 1. What has a hyphen is one word, an identifier several; what has digits in it is none."""
    return max(1, sum(len(kind.findall(text)) for kind in (_WORD, HUMP)) + len(_UNSPACED.findall(text)) // 2)
