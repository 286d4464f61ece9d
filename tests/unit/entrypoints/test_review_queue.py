"""The library's review queue."""

from __future__ import annotations

from entrypoints.library import ReviewQueue
from tests.fakes.clock import CountingIds
from tests.fakes.examples import injected, lesson
from tests.fakes.fake_lesson_store import FakeLessonStore


async def test_the_list_has_all_that_awaits_review_however_much_that_is() -> None:
    new_id, store = CountingIds(1), FakeLessonStore()
    waiting = [lesson(id=new_id()) for _ in range(2_001)]
    await store.add([injected(one) for one in waiting])
    assert [one for one, _ in await ReviewQueue(store).list()] == waiting
