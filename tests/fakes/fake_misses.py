"""Misses in memory."""

from __future__ import annotations

from collections.abc import Sequence

from application.feedback.ports import Miss, MissStore
from application.incorporator.ports import Misses
from tests.fakes.reachable import Reachable


class FakeMissStore(Reachable, MissStore):
    """See `Reachable` for how it fails."""

    def __init__(self) -> None:
        super().__init__()
        self._misses: dict[str, Miss] = {}

    async def add(self, misses: Sequence[Miss]) -> None:
        await self.reached("add")
        for miss in misses:
            known = self._misses.get(miss.problem_type)
            count = miss.count + (known.count if known else 0)
            last_at = max(miss.last_at, known.last_at) if known else miss.last_at
            self._misses[miss.problem_type] = Miss(problem_type=miss.problem_type, count=count, last_at=last_at)

    async def most_frequent(self, limit: int) -> Sequence[Miss]:
        await self.reached("most_frequent")
        return sorted(self._misses.values(), key=lambda miss: (-miss.count, miss.problem_type))[:limit]

    async def keep(self, most: int) -> None:
        await self.reached("keep")
        latest = sorted(self._misses.values(), key=lambda miss: miss.last_at, reverse=True)[:most]
        self._misses = {miss.problem_type: miss for miss in latest}


class NotedMisses(Misses):
    """`noted` are the problem types that found no match, in order."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def note(self, problem_type: str) -> None:
        self.noted.append(problem_type)
