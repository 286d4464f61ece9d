from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.learner.compatibility import MOST_MARKS, nfkc

ACUTE, BELOW = "\u0301", "\u0323"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_ordinary_texts_are_in_nfkc(text: str) -> None:
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("marks", [MOST_MARKS, MOST_MARKS + 1, 1_000_000])
def test_of_marks_in_a_row_only_so_many_are_kept_as_any_writing_needs(marks: int) -> None:
    kept = nfkc("x" + (ACUTE + BELOW) * (marks // 2) + "y")
    assert kept.startswith("x")
    assert kept.endswith("y")
    assert len(kept) == 2 + min(marks // 2 * 2, MOST_MARKS)


def test_marks_of_several_planes_are_counted_together() -> None:
    kept = nfkc("x" + (ACUTE + "\U0001e2ec") * 1_000)
    assert len(kept) == 1 + MOST_MARKS


def test_every_mark_that_is_put_in_order_is_counted() -> None:
    every = [char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.combining(char)]
    beyond = [char for char in every if len(nfkc("x" + char * 100)) > 1 + 3 * MOST_MARKS]
    assert beyond == []
