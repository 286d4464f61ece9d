"""What every lesson's content must be."""

from __future__ import annotations

import sys

import pytest

from domain.learner.draft import ANY_GROWTH, EXPANSIONS, MOST_GROWTH, growth_problem, problems
from domain.learner.ranking import normalised
from tests.fakes.examples import draft


def test_the_characters_that_grow_most_are_all_known() -> None:
    lengths = {
        char: len(normalised(char)) for char in map(chr, range(sys.maxunicode + 1)) if not 0xD800 <= ord(char) < 0xE000
    }
    assert {char: length for char, length in lengths.items() if length > MOST_GROWTH} == EXPANSIONS


@pytest.mark.parametrize(
    "text", ["漢字" * 150_000, "\ufb2c" * 340_000, "Straße İ " * 50_000, "\ufdfa" * 55, "a" * 10**6]
)
def test_an_ordinary_text_of_any_length_is_taken(text: str) -> None:
    assert growth_problem(text) is None


def test_a_text_that_normalising_makes_far_longer_is_refused_with_both_lengths() -> None:
    text = "\ufdfa" * 340_000
    (found,) = problems(draft(body=text))
    assert found.path == "body"
    assert found.message.startswith(
        "has 340000 characters, and 6120000 when it is normalised for comparison (NFKC): at most 1360000 are allowed"
    )


@pytest.mark.parametrize("char", EXPANSIONS)
def test_the_length_that_is_told_is_the_normalised_one(char: str) -> None:
    text = char * 500
    told = growth_problem(text)
    assert told is not None
    assert f"and {len(normalised(text))} when" in told
    assert max(ANY_GROWTH, MOST_GROWTH * len(text)) < len(normalised(text))
