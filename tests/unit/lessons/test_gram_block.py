from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adapters.lessons.gram_block import GramBlock, asked_of

anything = st.text(st.characters(), max_size=30)


@given(anything, anything, st.data())
def test_a_text_may_contain_each_of_its_parts(text: str, other: str, data: st.DataObject) -> None:
    block = GramBlock()
    block.add([17, 18], [text, other])
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    if start < end:
        assert 17 in block.may_contain(asked_of(text[start:end]))


def test_most_other_texts_are_left_out() -> None:
    block = GramBlock()
    block.add(range(100), [f"lesson {column} about something" for column in range(100)])
    assert block.may_contain(asked_of("lesson 42 about")) == [42]


def test_a_cleared_column_contains_nothing_and_leaves_its_neighbours() -> None:
    block = GramBlock()
    block.add(range(16), ["retry"] * 16)
    block.clear(9)
    assert block.may_contain(asked_of("retry")) == [column for column in range(16) if column != 9]


@given(st.lists(anything, min_size=2, max_size=20))
def test_texts_that_are_added_together_are_found_as_if_each_had_been_added_alone(texts: list[str]) -> None:
    together, alone = GramBlock(), GramBlock()
    columns = [3 * number for number in range(len(texts))]
    together.add(columns, texts)
    for column, text in zip(columns, texts, strict=True):
        alone.add([column], [text])
    for query in filter(None, texts):
        for part in (query, query[:3], query[-2:], query[0]):
            assert together.may_contain(asked_of(part)) == alone.may_contain(asked_of(part))
