"""How a text of several lines becomes one query vector: each line is embedded alone, and counts by its words.

Embedded together, the name of a kind of problem (`kubernetes_alert`) colours what follows, and makes everything that is
asked under that name look alike; so does any other short value beside a long one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from domain.learner.sections import fitted
from domain.learner.words import number_of_words, pieces, runs

MOST_PARTS: Final = 16
"""Texts that are embedded for one query; of more lines, neighbouring ones are joined."""

MOST_COMPARED: Final = 64
"""Lines of a text whose lines are compared with one another; the time that takes grows with their square."""


class Part(NamedTuple):
    """A text to embed, and how much its vector counts."""

    text: str
    words: int


def parts(text: str) -> list[Part]:
    """The lines of `text`, long ones split: 1 to `MOST_PARTS`.

    A blank line says nothing, and one whose words stand within another nothing more; more than `MOST_COMPARED` lines
    are joined without looking for such. A text without any line is one part. A part counts 1 at least.
    """
    lines = [line for line in dict.fromkeys(map(str.strip, text.split("\n"))) if line]
    said = _without_repetitions(lines) if len(lines) <= MOST_COMPARED else lines
    return [Part(one, max(1, number_of_words(one))) for one in fitted(said, MOST_PARTS)] or [Part(text, 1)]


def _without_repetitions(lines: Sequence[str]) -> list[str]:
    """The lines whose words do not stand, whole and in this order, within a longer one."""
    worded = [(line, f" {' '.join(piece for run in runs(line) for piece in pieces(run))} ") for line in lines]
    return [
        line for line, words in worded if not any(words in others for other, others in worded if len(other) > len(line))
    ]
