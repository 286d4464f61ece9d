from __future__ import annotations

import math
import sys
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.learner.lesson import Bin, PromotedLesson
from domain.learner.ranking import clamped, contenders, fused, normalised, ranked

NEW_YEAR = datetime(2026, 1, 1, tzinfo=timezone.utc)

any_float = st.floats(allow_nan=True, allow_infinity=True)
names = st.sampled_from([f"l{number}" for number in range(12)])
cosines = st.dictionaries(names, st.one_of(any_float, st.sampled_from([0.0, 0.5, 1.0, -1.0])))
text_matches = st.dictionaries(names, st.booleans())


def lesson(lesson_id: str, day: int = 0) -> PromotedLesson:
    return PromotedLesson(
        id=lesson_id,
        bin=Bin.SKILLS,
        title=f"title of {lesson_id}",
        body="",
        tags=(),
        dsl_payload=None,
        version=1,
        review_round=1,
        promoted_at=NEW_YEAR + timedelta(days=day),
    )


LESSONS = [lesson(f"l{number}", day=number % 3) for number in range(12)]


def order(lessons: list[PromotedLesson], matches: dict[str, bool], similar: dict[str, float]) -> list[str]:
    return [hit.lesson_id for hit in ranked(lessons, matches, similar)]


@pytest.mark.parametrize(
    ("one", "other"), [("Straße", "STRASSE"), ("ﬁle", "FILE"), ("Ｆ", "f"), ("e\u0301", "É"), ("ς", "Σ"), ("①", "1")]
)
def test_texts_that_differ_in_case_or_form_only_are_the_same(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


def test_normalising_twice_changes_nothing() -> None:
    changed = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if not 0xD800 <= code < 0xE000 and normalised(normalised(chr(code))) != normalised(chr(code))
    ]
    assert changed == []


@given(st.text())
def test_the_case_of_a_query_does_not_matter(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


@given(any_float)
def test_a_similarity_is_a_number_from_0_to_1(cosine: float) -> None:
    assert 0.0 <= clamped(cosine) <= 1.0


@pytest.mark.parametrize(("cosine", "similarity"), [(-0.3, 0.0), (0.3, 0.3), (1.0000001, 1.0), (math.nan, 0.0)])
def test_a_cosine_is_clamped(cosine: float, similarity: float) -> None:
    assert clamped(cosine) == similarity


def test_a_text_match_scores_1_and_keeps_its_similarity() -> None:
    (hit,) = ranked([lesson("a")], {"a": False}, {"a": 0.25})
    assert (hit.score, hit.similarity, hit.text_match, hit.title) == (1.0, 0.25, True, "title of a")


def test_without_a_text_match_the_similarity_is_the_score() -> None:
    (hit,) = ranked([lesson("a")], {}, {"a": 0.25})
    assert (hit.score, hit.similarity, hit.text_match) == (0.25, 0.25, False)


def test_a_lesson_with_neither_text_match_nor_positive_cosine_is_no_hit() -> None:
    lessons = [lesson(name) for name in "abcd"]
    assert order(lessons, {"d": True}, {"a": 0.0, "b": -0.5}) == ["d"]


def test_score_comes_before_similarity() -> None:
    assert order([lesson("a"), lesson("b")], {"b": False}, {"a": 0.9, "b": 0.1}) == ["b", "a"]


def test_similarity_comes_before_where_the_text_matched() -> None:
    assert order([lesson("a"), lesson("b")], {"a": True, "b": False}, {"a": 0.1, "b": 0.2}) == ["b", "a"]


def test_a_title_match_comes_before_a_newer_body_match() -> None:
    assert order([lesson("a", day=9), lesson("b")], {"a": False, "b": True}, {}) == ["b", "a"]


def test_the_newest_promotion_comes_first_then_the_id() -> None:
    lessons = [lesson("c", day=1), lesson("b", day=2), lesson("a", day=1)]
    assert order(lessons, dict.fromkeys("abc", True), {}) == ["b", "a", "c"]


@given(text_matches, cosines, st.permutations(LESSONS))
def test_the_order_does_not_depend_on_the_order_before(
    matches: dict[str, bool], similar: dict[str, float], lessons: list[PromotedLesson]
) -> None:
    hits = ranked(lessons, matches, similar)
    assert hits == ranked(LESSONS, matches, similar)
    assert all(0.0 <= hit.similarity <= hit.score <= 1.0 for hit in hits)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


@given(text_matches, cosines, st.integers(-1, 14))
def test_the_first_hits_are_among_the_contenders(
    matches: dict[str, bool], similar: dict[str, float], limit: int
) -> None:
    chosen = contenders(matches, similar, limit)
    assert chosen == sorted(set(chosen))
    first = order(LESSONS, matches, similar)[: max(limit, 0)]
    read = [one for one in LESSONS if one.id in chosen]
    assert order(read, matches, similar)[: max(limit, 0)] == first


def test_contenders_are_no_more_than_it_takes() -> None:
    similar = {f"l{number}": number / 20 for number in range(1, 12)}
    assert contenders({}, similar, 3) == ["l10", "l11", "l9"]
    assert contenders({"l1": False}, similar, 2) == ["l1", "l11"]


def test_words_lift_a_lesson_that_is_almost_as_similar() -> None:
    similar = {"a": 0.50, "b": 0.48, "c": 0.10}
    assert fused(similar, {"a": 0.0, "b": 7.0}) == ["b", "a", "c"]


def test_similarity_and_words_weigh_the_same() -> None:
    similar = {"best": 1.0, "worded": 0.0, "both": 0.6}
    assert fused(similar, {"worded": 10.0, "both": 6.0, "best": 0.0}) == ["both", "best", "worded"]


def test_words_still_count_beside_a_lesson_that_is_far_ahead_in_them() -> None:
    similar = {f"l{number}": 0.5 - 0.02 * number for number in range(20)}
    order = fused(similar, {"l2": 20.0, "l19": 200.0})
    assert order.index("l2") < order.index("l0")


def test_without_common_words_the_similarity_decides() -> None:
    assert fused({"a": 0.1, "b": 0.3, "c": -0.2}, {}) == ["b", "a", "c"]


def test_where_all_is_equal_the_id_decides() -> None:
    assert fused({"b": 0.5, "a": 0.5}, {"a": 1.0, "b": 1.0}) == ["a", "b"]


@given(cosines, st.dictionaries(names, any_float))
def test_fusing_reorders_and_nothing_else(similar: dict[str, float], lexical: dict[str, float]) -> None:
    assert sorted(fused(similar, lexical)) == sorted(similar)
    backwards = dict(reversed(list(similar.items())))
    assert fused(backwards, lexical) == fused(similar, lexical)
