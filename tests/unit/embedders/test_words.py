from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.embedders.words import content_words, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Retrying failed uploads", ["retri", "fail", "upload"]),
        ("CrashLoopBackOff", ["crash", "loop", "back", "off", "crashloopbackoff"]),
        ("kubeAPIErrors", ["kube", "api", "error", "kubeapierrors"]),
        ("node_memory-usage", ["node", "memori", "usag"]),
        ("/var/log/app.log", ["var", "log", "app", "log"]),
        ("10.0.3.17:9100", ["10", "0", "3", "17", "9100"]),
        ("nvme0n1p1", ["nvme0n1p1"]),
        ("重试上传", ["重", "试", "上", "传"]),
        ("повторить загрузку", ["повторить", "загрузку"]),
        ("फिर से", ["फिर", "से"]),
        ("ร้าน", ["ร้", "า", "น"]),
        ("STRASSE Straße", ["strass", "strass"]),
        ("🚀🔥 go", ["🚀", "🔥", "go"]),
        ("ﬁle", ["file"]),
        ("", []),
        ("… – !?\0", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_function_words_do_not_count() -> None:
    assert content_words("The upload has been in a failed state") == ["upload", "fail", "state"]


def test_function_words_count_where_there_is_nothing_else() -> None:
    assert content_words("to be or not to be") == ["to", "be", "or", "not", "to", "be"]


def test_a_very_long_word_counts_by_its_beginning() -> None:
    assert words("x" * 100_000) == ["x" * 64]
    assert words("试" * 1_000) == ["试"] * 1_000


@given(st.text())
def test_any_text_has_words_without_spaces(text: str) -> None:
    found = words(text)
    assert all(word and not any(character.isspace() for character in word) for word in found)
    assert words(text) == found


ascii_text = st.text(st.characters(max_codepoint=127))


@given(ascii_text)
def test_ascii_text_has_the_words_that_it_has_beside_other_text(text: str) -> None:
    assert words(f"{text} ж") == [*words(text), "ж"]


@given(st.text("aAbBzZ019", min_size=1))
def test_an_identifier_has_the_words_that_it_has_as_one_of_several(run: str) -> None:
    assert words(f"{run}_") == words(run)
