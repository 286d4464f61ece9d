from __future__ import annotations

import math

import pytest

from adapters.lessons import bm25
from adapters.lessons.bm25 import Bm25


def test_a_score_is_the_textbook_sum() -> None:
    words = Bm25()
    words.put({"a": ["upload", "upload", "retry"]})
    words.put({"b": ["upload"]})
    words.put({"c": ["wait", "wait"]})
    rarity = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = rarity * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    assert words.scores(["upload"], ["a"]) == {"a": pytest.approx(expected)}


def test_a_word_that_is_asked_twice_counts_once() -> None:
    words = Bm25()
    words.put({"a": ["upload", "retry"]})
    assert words.scores(["upload", "upload"], ["a"]) == words.scores(["upload"], ["a"])


def test_scores_are_as_if_the_removed_had_never_been_there() -> None:
    words, never = Bm25(), Bm25()
    for one in (words, never):
        one.put({"a": ["upload", "retry"]})
        one.put({"b": ["retry"]})
    words.put({"c": ["upload"] * 50})
    words.put({"a": ["other"]})
    words.put({"a": ["upload", "retry"]})
    words.remove("c")
    words.remove("c")
    assert words.scores(["upload", "retry"], ["a", "b"]) == never.scores(["upload", "retry"], ["a", "b"])


def test_empty_lessons_score_zero() -> None:
    words = Bm25()
    words.put({"a": []})
    assert words.scores(["upload"], ["a", "a"]) == {"a": 0.0}


def test_lessons_that_are_put_together_score_as_if_each_had_been_put_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25, "_ROOM", 2)
    lessons = {f"{number}": [f"word-{number}", "common", f"word-{number % 3}", "common"] for number in range(10)}
    together, alone = Bm25(), Bm25()
    together.put(lessons)
    for lesson_id, words in lessons.items():
        alone.put({lesson_id: words})
    asked = ["common", "word-1", "word-9", "unknown"]
    assert together.scores(asked, lessons) == alone.scores(asked, lessons)
    assert together.scores(["word-9"], ["9", "8"])["9"] > 0.0
