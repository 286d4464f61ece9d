from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adapters.lessons.gram_block import GramBlock, asked_of

anything = st.text(st.characters(), max_size=30)


@given(anything, anything, st.data())
def test_a_text_may_contain_each_of_its_parts(text: str, other: str, data: st.DataObject) -> None:
    block = GramBlock()
    block.add(17, text)
    block.add(18, other)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    if start < end:
        assert 17 in block.may_contain(asked_of(text[start:end]))


def test_most_other_texts_are_left_out() -> None:
    block = GramBlock()
    for column in range(100):
        block.add(column, f"lesson {column} about something")
    assert block.may_contain(asked_of("lesson 42 about")) == [42]


def test_a_cleared_column_contains_nothing_and_leaves_its_neighbours() -> None:
    block = GramBlock()
    for column in range(16):
        block.add(column, "retry")
    block.clear(9)
    assert block.may_contain(asked_of("retry")) == [column for column in range(16) if column != 9]
