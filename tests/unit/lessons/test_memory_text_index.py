from __future__ import annotations

import pytest

from adapters.lessons import memory_text_index
from adapters.lessons.gram_block import GramBlock
from adapters.lessons.memory_text_index import MemoryTextIndex
from application.learner.ports import LessonText
from domain.learner.lesson import Bin


def text(number: int, words: str) -> LessonText:
    return LessonText(lesson_id=f"{number:03}", bin=Bin.SKILLS, title=f"lesson {number:03}", body=words)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GramBlock, "LESSONS", 16)
    monkeypatch.setattr(memory_text_index, "_APPLIED_AT_ONCE", 7)


@pytest.mark.usefixtures("small_blocks")
async def test_many_blocks_answer_as_one() -> None:
    index = MemoryTextIndex()
    await index.apply([text(number, "retry" if number % 2 else "wait") for number in range(100)], [])
    odd = {f"{number:03}" for number in range(1, 100, 2)}
    assert {hit.lesson_id for hit in await index.containing("retry")} == odd
    await index.apply([text(200, "retry")], [f"{number:03}" for number in range(90)])
    assert {hit.lesson_id for hit in await index.containing("retry")} == {"091", "093", "095", "097", "099", "200"}
    await index.apply([text(number, "retry") for number in range(300, 390)], [])
    assert len(await index.containing("retry")) == 96


@pytest.mark.parametrize("times", [1, 2_000], ids=["short", "long"])
async def test_a_lesson_that_comes_twice_at_once_is_as_it_came_last(times: int) -> None:
    index = MemoryTextIndex()
    await index.apply([text(1, "retry"), text(2, "retry " * times), text(1, "wait")], [])
    assert [hit.lesson_id for hit in await index.containing("retry")] == ["002"]
    assert [hit.lesson_id for hit in await index.containing("wait")] == ["001"]
