from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.learner.embed import embedded_query
from domain.learner.query_parts import MOST_COMPARED, MOST_PARTS, Part, parts
from domain.learner.sections import LONGEST_SECTION
from tests.fakes.fake_embedder import FakeEmbedder


def without_space(text: str) -> str:
    return "".join(text.split())


def test_each_line_is_a_part_that_counts_by_its_words() -> None:
    assert parts("flaky_upload\n\nthe pod restarts  again \nwarning") == [
        Part("flaky_upload", 2),
        Part("the pod restarts  again", 4),
        Part("warning", 1),
    ]


@pytest.mark.parametrize("inner", ["prod-eu", "payments", "restarts in payments on prod-eu", "on prod/eu"])
def test_a_line_whose_words_another_one_holds_says_nothing_more(inner: str) -> None:
    whole = "The pod restarts in payments on prod-eu."
    assert [part.text for part in parts(f"alert\n{inner}\n{whole}\n{inner}")] == ["alert", whole]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("error", "terror in the cinema"),
        ("a", "failed to start"),
        ("api", "the capital is gone"),
        ("db", "feedback"),
        ("prod eu", "the eu node of prod"),
        ("कल", "कला का पाठ"),
    ],
)
def test_a_line_whose_characters_stand_within_other_words_stays(short: str, long: str) -> None:
    assert [part.text for part in parts(f"{short}\n{long}")] == [short, long]


def test_words_of_a_script_without_spaces_stand_within_a_longer_line() -> None:
    assert [part.text for part in parts("上传\n上传失败因为存储空间不足")] == ["上传失败因为存储空间不足"]


@pytest.mark.parametrize(("others", "compared"), [(MOST_COMPARED - 1, True), (MOST_COMPARED, False)])
def test_more_lines_than_a_bound_are_joined_without_comparing_them(others: int, compared: bool) -> None:
    lines = ["payments", *(f"payments-{number}" for number in range(others))]
    said = "\n".join(part.text for part in parts("\n".join(lines))).split()
    assert said == (lines[1:] if compared else lines)


@pytest.mark.parametrize("text", ["", " \n\t\n", "...", "「」、。", "42"])
def test_a_text_without_words_is_one_part_that_counts_as_a_word(text: str) -> None:
    assert parts(text) == [Part(text, 1)]


def test_a_line_that_is_longer_than_a_section_is_split_and_loses_nothing() -> None:
    line = " ".join(f"word{chr(97 + number % 26)}" for number in range(500))
    found = parts(f"alert\n{line}")
    assert len(found) > 2
    assert all(len(part.text) <= LONGEST_SECTION for part in found)
    assert " ".join(part.text for part in found[1:]) == line
    assert found[0] == Part("alert", 1)


@given(st.text(max_size=3_000), st.integers(1, 60))
def test_however_many_lines_there_are_the_parts_are_few_and_hold_everything(text: str, times: int) -> None:
    lines = [f"{number} {' '.join(text.split())}." for number in range(100, 100 + times)]
    found = parts("\n".join(lines))
    assert 1 <= len(found) <= MOST_PARTS
    assert without_space("".join(part.text for part in found)) == without_space("".join(lines))
    assert all(part.words > 0 for part in found)


async def test_a_text_of_one_line_has_the_vector_that_the_embedder_gives_it() -> None:
    embedder = FakeEmbedder()
    assert await embedded_query(embedder, "retry uploads") == (await embedder.embed(["retry uploads"]))[0]


async def test_the_lines_of_a_query_are_embedded_alone() -> None:
    embedder = FakeEmbedder()
    kind, what = await embedder.embed(["flaky_upload", "upload report.pdf"])
    assert await embedded_query(embedder, "flaky_upload\nupload report.pdf") == embedder.mean([kind, what], [2, 3])
