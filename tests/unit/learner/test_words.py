from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.learner.words import number_of_words, pieces, runs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("KubePodCrashLooping", 4),
        ("CPUThrottlingHigh", 3),
        ("payments/checkout-7d9f4b-x2x8k", 2),
        ("kube-state-metrics isn't up-to-date", 3),
        ("12.4% of 3 targets", 2),
        ("aB3dE5fG", 0),
        ("42", 0),
        ("... – !?", 0),
        ("「」、。", 0),
        ("上传失败因为存储空间不足", 6),
        ("Pod启动失败", 3),
        ("ファイル", 2),
        ("ﾌｧｲﾙ", 2),
        ("загрузка не удалась", 3),
        ("नमस्ते दुनिया", 2),
        ("résumé", 1),
        ("ไฟล์", 2),
    ],
)
def test_words_are_counted_in_any_script(text: str, words: int) -> None:
    assert number_of_words(text) == words


@given(st.text(st.characters(max_codepoint=0x24FF)))
def test_a_text_has_as_many_words_decomposed_as_composed(text: str) -> None:
    decomposed, composed = (number_of_words(unicodedata.normalize(form, text)) for form in ("NFD", "NFC"))
    assert decomposed == composed


@given(st.text())
def test_a_text_has_words_only_where_it_has_letters(text: str) -> None:
    assert (number_of_words(text) > 0) <= any(character.isalpha() or character.isnumeric() for character in text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a/b-c node_memory", ["a", "b", "c", "node", "memory"]),
        ("le résumé, 🚀!", ["le", "résumé", "🚀"]),
        ("फिर से", ["फिर", "से"]),
        ("重试upload", ["重", "试", "upload"]),
        ("… _", []),
    ],
)
def test_the_words_of_a_text_are_the_pieces_of_its_runs(text: str, words: list[str]) -> None:
    assert [piece for run in runs(text) for piece in pieces(run)] == words
