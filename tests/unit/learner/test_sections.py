from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from domain.learner.sections import LONGEST_SECTION, MOST_SECTIONS, sections, texts_to_embed


def test_the_title_comes_alone_and_with_each_section() -> None:
    assert texts_to_embed("T", "intro\n\n# One\n\nfirst\n\n## Two\n\nsecond") == [
        "T",
        "T\nintro",
        "T\n# One\n\nfirst",
        "T\n## Two\n\nsecond",
    ]


def test_a_lesson_without_a_body_is_its_title() -> None:
    assert texts_to_embed("T", "") == ["T"]
    assert texts_to_embed("T", " \n\n\t") == ["T"]


def test_code_starts_no_section() -> None:
    body = "# Check\n\n```shell\n# list the pods\nkubectl get pods\n```\n\n# Fix\n\nrestart"
    assert sections(body) == ["# Check\n\n```shell\n# list the pods\nkubectl get pods\n```", "# Fix\n\nrestart"]


def test_a_fence_is_closed_by_its_own_kind_only() -> None:
    body = "a\n~~~~\n```\n~~~\n~~~~ x\n# code\n~~~~\n# Heading\nb"
    assert sections(body) == ["a\n~~~~\n```\n~~~\n~~~~ x\n# code\n~~~~", "# Heading\nb"]


def test_an_unclosed_fence_reaches_to_the_end() -> None:
    assert sections("a\n```\n# code\n# code") == ["a\n```\n# code\n# code"]


def test_a_hash_without_a_space_is_no_heading() -> None:
    assert sections("a\n#tag\n####### seven\nb") == ["a\n#tag\n####### seven\nb"]


def test_a_heading_with_nothing_under_it_goes_with_the_next() -> None:
    assert sections("# Runbook\n\n## Meaning\n\ntext\n\n## End") == ["# Runbook\n\n## Meaning\n\ntext", "## End"]


def test_a_long_section_is_split_between_paragraphs() -> None:
    paragraph = "word " * 110
    parts = sections("\n\n".join([paragraph] * 5))
    assert len(parts) == 3
    assert all(set(part.split()) == {"word"} for part in parts)


def test_a_wall_of_characters_is_split_too() -> None:
    assert "".join(sections("x" * 3_000)) == "x" * 3_000


@given(st.lists(st.sampled_from(["# H", "## I", "text", "x" * 700, "```", "", "~~~", "a b " * 400]), max_size=80))
def test_nothing_is_lost_and_the_number_is_bounded(lines: list[str]) -> None:
    body = "\n".join(lines)
    parts = sections(body)
    assert len(parts) <= MOST_SECTIONS
    assert all(part.strip() for part in parts)
    assert "".join("".join(parts).split()) == "".join(body.split())
    if sum(map(len, parts)) < LONGEST_SECTION:
        assert all(len(part) <= LONGEST_SECTION for part in parts)


def test_a_huge_body_gives_no_more_texts() -> None:
    assert len(texts_to_embed("T", "# H\n\ntext\n" * 20_000)) <= 1 + MOST_SECTIONS
    assert len(texts_to_embed("T", "word " * 200_000)) <= 1 + MOST_SECTIONS
