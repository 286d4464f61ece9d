"""Texts in Unicode's compatibility form, so that what looks alike is alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

MOST_MARKS: Final = 30
"""Combining marks in a row that are kept: no writing needs more (Unicode's stream-safe format, UAX #15, section 13)."""

_FIRST_PLANE: Final = (*range(0x300, 0x3100), *range(0xA600, 0xAC00), *range(0xFB00, 0xFF00))
_BEYOND: Final = (
    *range(0x10000, 0x12000),
    *range(0x16A00, 0x17000),
    *range(0x1BC00, 0x1BD00),
    *range(0x1D100, 0x1D300),
    *range(0x1E000, 0x1EA00),
)
"""Blocks that have combining marks, those of ideographs and syllables left out."""


def _too_many(blocks: Iterable[int]) -> re.Pattern[str]:
    marks = re.escape("".join(char for char in map(chr, blocks) if unicodedata.combining(char)))
    return re.compile(f"([{marks}]{{{MOST_MARKS}}})[{marks}]+")


_TOO_MANY: Final = _too_many(_FIRST_PLANE)
_TOO_MANY_BEYOND: Final = _too_many((*_FIRST_PLANE, *_BEYOND))
"""Ten times as slow: only for texts that have such characters."""


def nfkc(text: str) -> str:
    """`text` in NFKC. Of more than `MOST_MARKS` combining marks in a row the rest is left out.

    Putting a run of marks in order takes the square of its length: a text of nothing else would take hours.
    """
    if text.isascii():
        return text
    too_many = _TOO_MANY if max(text) <= "\uffff" else _TOO_MANY_BEYOND
    return unicodedata.normalize("NFKC", too_many.sub(r"\1", text))
