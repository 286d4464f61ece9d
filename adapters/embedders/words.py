"""Words of a text in any script, as the hashing embedder and the lexical index both see them.

They are those of `domain.learner.words`, and the parts of identifiers (`CrashLoopBackOff`). Scripts that are written
without spaces fall apart into single characters, whose order the callers' bigrams keep. English words are stemmed
(Snowball); every other word stays as it is.
"""

from __future__ import annotations

import re
import threading
from itertools import chain
from typing import Final

import Stemmer

from domain.learner.compatibility import nfkc
from domain.learner.words import HUMP, pieces, runs

_ENGLISH = re.compile(r"[a-z]+")

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

_LAST_OF_ENGLISH: Final = "\u2fff"
"""Beyond it no single character has an English stem, and most are words of a script without spaces."""

_REMEMBERED: Final = 32_768
_thread = threading.local()


def words(text: str) -> list[str]:
    """The stemmed words of `text`, in order; an identifier gives its parts and then, joined, itself."""
    return [word for run in _runs(text) for word in _split(run)]


def content_words(text: str) -> list[str]:
    """`words` without English function words; with them where there is nothing else."""
    return list(chain.from_iterable(map(_content.__getitem__, _runs(text)))) or words(text)


def _runs(text: str) -> list[str]:
    return runs(nfkc(text))


def _split(run: str) -> tuple[str, ...]:
    """The words of a run of letters, marks and digits."""
    if run.isascii() and "_" not in run and run[1:] == run[1:].lower():
        return (_stem(run[:_LONGEST].lower()),)
    found: list[str] = []
    for piece in pieces(run):
        if len(piece) == 1 and piece > _LAST_OF_ENGLISH:
            found.append(piece.casefold())
            continue
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
