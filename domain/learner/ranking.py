"""How promoted lessons are put in order for a query. Pure arithmetic.

Told in `docs/matching.md`. A similarity is a cosine; a text match is a containment of normalised texts.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping

import msgspec

from domain.learner.compatibility import nfkc
from domain.learner.lesson import Bin, PromotedLesson

TEXT_MATCH_SCORE = 1.0
RERANKED = 50
"""How many of the most similar lessons the lexical score may reorder."""


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A promoted lesson found by a search. `score` and `similarity` are in [0, 1], `similarity` is never above it."""

    lesson_id: str
    bin: Bin
    title: str
    score: float
    text_match: bool
    similarity: float


def normalised(text: str) -> str:
    """`text` as it is compared for containment: NFKC and case-folded, the same for queries and lessons."""
    return unicodedata.normalize("NFKC", nfkc(text).casefold())


def clamped(cosine: float) -> float:
    """A cosine as a similarity in [0, 1]; what is no number counts as no similarity."""
    return _bounded(cosine, 0.0, 1.0)


def ranked(
    lessons: Iterable[PromotedLesson], text_matches: Mapping[str, bool], cosines: Mapping[str, float]
) -> list[SearchHit]:
    """The hits among `lessons`, best first.

    `text_matches` holds the lessons that contain the query (True: in the title), `cosines` those with a known cosine.
    A lesson with neither a text match nor a positive cosine is no hit. Order: score, similarity, title match before
    body match, newest promotion, id.
    """
    found = []
    for lesson in lessons:
        similarity = clamped(cosines.get(lesson.id, 0.0))
        if lesson.id in text_matches or similarity > 0.0:
            found.append((_hit(lesson, lesson.id in text_matches, similarity), lesson))
    found.sort(key=lambda pair: pair[0].lesson_id)
    found.sort(key=lambda pair: pair[1].promoted_at, reverse=True)
    found.sort(key=lambda pair: _merit(pair[0], text_matches), reverse=True)
    return [hit for hit, _ in found]


def contenders(text_matches: Mapping[str, bool], cosines: Mapping[str, float], limit: int) -> list[str]:
    """The ids of all lessons that may be among the first `limit` of `ranked`, by what is known without reading them."""
    merits = {}
    for lesson_id in {*text_matches, *cosines}:
        similarity = clamped(cosines.get(lesson_id, 0.0))
        if lesson_id in text_matches:
            merits[lesson_id] = (TEXT_MATCH_SCORE, similarity, text_matches[lesson_id])
        elif similarity > 0.0:
            merits[lesson_id] = (similarity, similarity, False)
    if limit <= 0 or not merits:
        return []
    last = sorted(merits.values(), reverse=True)[:limit][-1]
    return sorted(lesson_id for lesson_id, merit in merits.items() if merit >= last)


def fused(cosines: Mapping[str, float], lexical: Mapping[str, float]) -> list[str]:
    """The lessons of `cosines`, reordered by the sum of similarity and lexical score, each standardised.

    So both move the order equally, whatever their range. A lesson without a lexical score has 0. Equal sums go by
    cosine, then by id.
    """
    bounded = {lesson_id: _bounded(cosine, -1.0, 1.0) for lesson_id, cosine in cosines.items()}
    worded = _standardised({lesson_id: _bounded(lexical.get(lesson_id, 0.0), 0.0, math.inf) for lesson_id in cosines})
    similar = _standardised(bounded)
    return sorted(cosines, key=lambda one: (-(similar[one] + worded[one]), -bounded[one], one))


def _hit(lesson: PromotedLesson, text_match: bool, similarity: float) -> SearchHit:
    return SearchHit(
        lesson_id=lesson.id,
        bin=lesson.bin,
        title=lesson.title,
        score=TEXT_MATCH_SCORE if text_match else similarity,
        text_match=text_match,
        similarity=similarity,
    )


def _merit(hit: SearchHit, text_matches: Mapping[str, bool]) -> tuple[float, float, bool]:
    return hit.score, hit.similarity, text_matches.get(hit.lesson_id, False)


def _standardised(values: Mapping[str, float]) -> dict[str, float]:
    """By how many standard deviations each is above the mean; where all are equal, 0."""
    least, most = min(values.values(), default=0.0), max(values.values(), default=0.0)
    if most <= least:
        return dict.fromkeys(values, 0.0)
    scaled = {key: (value - least) / (most - least) for key, value in values.items()}
    mean = math.fsum(scaled.values()) / len(scaled)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in scaled.values()) / len(scaled))
    return {key: (value - mean) / deviation for key, value in scaled.items()}


def _bounded(value: float, least: float, most: float) -> float:
    """`value` within these bounds; what is no finite number counts as 0."""
    return min(most, max(least, value)) if math.isfinite(value) else 0.0
