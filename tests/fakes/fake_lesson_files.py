"""A lessons folder that is a dictionary."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.lowlevel

from application.learner.ports import LessonFiles
from domain.errors import StoreUnavailable
from domain.learner import agent_skill
from domain.learner.lesson import PromotedLesson


class FakeLessonFiles(LessonFiles):
    """`texts` holds each file by its path, `away` makes every call fail, `applied` counts the changes."""

    def __init__(self) -> None:
        self.away = False
        self.applied = 0
        self._revision = 0
        self._files: dict[str, tuple[str, str]] = {}

    @property
    def texts(self) -> dict[str, str]:
        return dict(self._files.values())

    async def revision(self) -> int:
        await self._reached()
        return self._revision

    async def apply(self, put: Sequence[PromotedLesson], remove: Sequence[str], revision: int) -> None:
        await self._reached()
        for lesson_id in remove:
            self._files.pop(lesson_id, None)
        for copy in put:
            name = agent_skill.skill_name(copy.title, copy.id)
            self._files[copy.id] = (f"{copy.bin.value}/{name}/SKILL.md", agent_skill.render(copy))
        self._revision = revision
        self.applied += 1

    async def _reached(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.away:
            raise StoreUnavailable("the fake lessons folder is away")
