"""The text by which similar lessons are looked for is short, and soon made, whatever the caller sends."""

from __future__ import annotations

import time
from typing import Any

import pytest

from domain.incorporator.query import LONGEST_TEXT, text_query
from tests.fakes.examples import query


def nested(levels: int, inner: Any) -> Any:
    value = inner
    for _ in range(levels):
        value = {"k" * 30_000: value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        [[]] * 5_000_000,
        [{}] * 300_000,
        [None] * 300_000,
        [""] * 300_000,
        list(range(300_000)),
        {str(number): number for number in range(100_000)},
        "x" * 1_000_000,
        nested(29, list(range(60_000))),
        nested(29, {f"a{number}": [] for number in range(60_000)}),
    ],
    ids=["lists", "objects", "nulls", "texts", "numbers", "keys", "long", "long-keys", "long-keys-objects"],
)
def test_it_is_bounded_in_length_and_time(value: Any) -> None:
    start = time.process_time()
    text = text_query(query(current_task_context={"a": value}, additional_caller_data={"b": value}))
    assert len(text) <= LONGEST_TEXT
    assert time.process_time() - start < 1
    assert text.startswith("flaky_upload")
