"""What the tests of the catalog share: searches by titles, many lessons at once, and an embedder that is slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from application.learner.ports import LessonChange
from domain.learner.lesson import Lesson, Status, promoted_copy
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import injected, lesson, log_entry
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.system import Learner
from tests.fakes.unsteady import UnsteadyEmbedder


async def matches(learner: Learner, query: str = "retry") -> list[str]:
    """The titles of what a search finds."""
    return [found.copy.title for found in (await learner.search(query, None, 10)).found]


async def similar(learner: Learner, query: str = "retry uploads") -> list[str]:
    """The titles of what the language model would be offered: what the vector index holds."""
    return sorted(found.copy.title for found in (await learner.search.most_similar(query, 10)).found)


async def crowd(store: FakeLessonStore, count: int) -> list[Lesson]:
    """So many promoted lessons, without embeddings."""
    new_id = CountingIds(0xC)
    lessons = [lesson(id=new_id(), title=f"Lesson {n}", body="Retry.") for n in range(count)]
    await store.add([injected(one) for one in lessons])
    for one in lessons:
        after = lesson(id=one.id, title=one.title, body=one.body, status=Status.PROMOTED, version=2, review_round=1)
        change = LessonChange(lesson=after, expected=one, log=[log_entry()], promote=promoted_copy(after, at=START))
        assert await store.change(change)
    return lessons


class Slow(UnsteadyEmbedder):
    """While it embeds, somebody edits the lesson."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Any] = []

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        vectors = await super().embed(texts)
        while self.meanwhile:
            await self.meanwhile.pop()()
        return vectors
