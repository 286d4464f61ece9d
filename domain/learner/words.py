"""What a word is in any script, for the texts that are embedded and for the embedder that knows words.

A word is a maximal run of letters, marks and digits. Scripts that are written without spaces have no such runs: each of
their characters stands for itself, with its marks.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word of an identifier ends and the next one begins, as in `CrashLoopBackOff`."""

_WITH_MARKS = (*range(0x300, 0x3100), *range(0xA600, 0xAC00), *range(0xFB00, 0x10000))
"""Of the first plane, without the long blocks of ideographs, syllables and private characters, which have none."""

_MARKS = re.escape("".join(char for char in map(chr, _WITH_MARKS) if unicodedata.category(char)[0] == "M"))
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_PICTURES = "\u2190-\u2bff\U0001f000-\U0001faff"

_RUN = re.compile(rf"[{_PICTURES}]|[\w{_MARKS}]+")
_PIECE = re.compile(rf"[{_UNSPACED}][{_MARKS}]*|[^{_UNSPACED}_]+")

_ASCII_RUNS = "".join(char if char.isalnum() or char == "_" else " " for char in map(chr, range(128)))
"""What becomes of each ASCII character, so that the runs are what is left between spaces; sooner than by `_RUN`."""

_SOME_MARKS = re.compile(f"[{_MARKS}]+")
_SPACED_WORD = re.compile(
    rf"(?<![^\W_{_UNSPACED}])[^\W\d_{_UNSPACED}]+(?:[-'’][^\W\d_{_UNSPACED}]+)*(?![^\W_{_UNSPACED}])"
)
_SOME_UNSPACED = re.compile(f"[{_UNSPACED}]+")


def runs(text: str) -> list[str]:
    """The runs of letters, marks, digits and `_` in `text`, and its pictures, in order."""
    if text.isascii():
        return text.translate(_ASCII_RUNS).split()
    found: list[str] = _RUN.findall(text)
    return found


def pieces(run: str) -> list[str]:
    """The words of a run: what stands between `_`, and each character of a script without spaces."""
    found: list[str] = _PIECE.findall(run)
    return found


def number_of_words(text: str) -> int:
    """How many words a reader would count: 0 for punctuation.

    What has a hyphen is one word, an identifier several; what has digits in it is none. Of scripts without spaces about
    two letters make a word. Marks do not matter, so that composed and decomposed letters are alike.
    """
    letters_alone = _without_marks(text)  # first, since ordering thousands of marks in a row takes seconds
    plain = _without_marks(unicodedata.normalize("NFD", letters_alone))
    spaced: list[str] = _SPACED_WORD.findall(plain)
    unspaced = sum(map(str.isalpha, "".join(_SOME_UNSPACED.findall(plain))))
    return len(spaced) + len(HUMP.findall(" ".join(spaced))) + (unspaced + 1) // 2


def _without_marks(text: str) -> str:
    return text if text.isascii() else _SOME_MARKS.sub("", text)
