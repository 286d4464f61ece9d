"""Words of a text in any script, as the hashing embedder and the lexical index both see them.

A word is a maximal run of letters, marks and digits. Identifiers are split as well (`CrashLoopBackOff`,
`node_memory`, `a/b-c`), and scripts that are written without spaces fall apart into single characters, whose
order the callers' bigrams keep. English words are stemmed (Snowball); every other word stays as it is.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from itertools import chain
from typing import Final

import Stemmer

from domain.learner.query_parts import HUMP

_WITH_MARKS = (*range(0x300, 0x3100), *range(0xA600, 0xAC00), *range(0xFB00, 0x10000))
"""Of the first plane, without the long blocks of ideographs, syllables and private characters, which have none."""

_MARKS = "".join(char for char in map(chr, _WITH_MARKS) if unicodedata.category(char)[0] == "M")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_PICTURES = "\u2190-\u2bff\U0001f000-\U0001faff"

_RUN = re.compile(rf"[{_PICTURES}]|[\w{re.escape(_MARKS)}]+")
_PIECE = re.compile(rf"[{_UNSPACED}][{re.escape(_MARKS)}]*|[^{_UNSPACED}_]+")
_ENGLISH = re.compile(r"[a-z]+")

_ASCII_RUNS = "".join(char if char.isalnum() or char == "_" else " " for char in map(chr, range(128)))
"""What becomes of each ASCII character, so that the runs are what is left between spaces; sooner than by `_RUN`."""

_FUNCTION_WORDS = """
    a about above after again against all am an and any are as at be because been before being below between
    both but by can cannot could did do does doing don down during each few for from further had has have
    having he her here hers herself him himself his how i if in into is isn it its itself just may me might
    more most must my myself no nor not now of off on once only or other our ours ourselves out over own per
    same shall she should so some such than that the their theirs them themselves then there these they this
    those through to too under until up upon us very was we were what when where which while who whom why will
    with within without would you your yours yourself yourselves s t re ve ll d m
"""
"""English words that carry grammar rather than a subject."""

_LONGEST: Final = 64
"""Characters of a word that count; and of a run of them that is worth remembering."""

_REMEMBERED: Final = 32_768
_thread = threading.local()


def words(text: str) -> list[str]:
    """The stemmed words of `text`, in order; an identifier gives its parts and then, joined, itself."""
    return [word for run in _runs(text) for word in _split(run)]


def content_words(text: str) -> list[str]:
    """`words` without English function words; with them where there is nothing else."""
    return list(chain.from_iterable(map(_content.__getitem__, _runs(text)))) or words(text)


def _runs(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_ASCII_RUNS).split()
    runs: list[str] = _RUN.findall(unicodedata.normalize("NFKC", text))
    return runs


def _split(run: str) -> tuple[str, ...]:
    """The words of a run of letters, marks and digits."""
    if run.isascii() and "_" not in run and run[1:] == run[1:].lower():
        return (_stem(run[:_LONGEST].lower()),)
    found: list[str] = []
    for piece in _PIECE.findall(run):
        parts = [part.casefold() for part in HUMP.split(piece[:_LONGEST])]
        found.extend(map(_stem, parts))
        if len(parts) > 1:
            found.append("".join(parts))
    return tuple(found)


class _Content(dict[str, tuple[str, ...]]):
    """By run: its words without function words. Worked out where one is asked for, and remembered unless it is long.

    For any number of threads; a dictionary, since most of what a text takes is as many look-ups as it has words.
    """

    def __missing__(self, run: str) -> tuple[str, ...]:
        content = tuple(word for word in _split(run) if word not in _STEMMED_FUNCTION_WORDS)
        if len(run) <= _LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[run] = content
        return content


_content = _Content()


def _stem(word: str) -> str:
    """The English stem of a case-folded word; a word of another script comes back unchanged."""
    if not _ENGLISH.fullmatch(word):
        return word
    if not hasattr(_thread, "stemmer"):  # it is not safe to share one between threads
        _thread.stemmer = Stemmer.Stemmer("english", 0)
    stemmed: str = _thread.stemmer.stemWord(word)
    return stemmed


_STEMMED_FUNCTION_WORDS = frozenset(_stem(word) for word in _FUNCTION_WORDS.split())
