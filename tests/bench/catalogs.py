"""The service's own catalog in this process, over a seeded object store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dependency_injector import providers

from application.learner.ports import LessonFiles
from entrypoints.container import LearnerContainer
from entrypoints.settings import Settings
from tests.bench import seeds


@asynccontextmanager
async def opened(file: Path, folder: Path, files: LessonFiles | None = None) -> AsyncIterator[LearnerContainer]:
    """A Learner that has read its whole catalog; with `files` in the place of the lessons folder, if they are given."""
    container = LearnerContainer(settings=Settings(lessons_dsn=seeds.dsn(file), lessons_root=str(folder)))
    if files is not None:
        container.files.override(providers.Object(files))
    await container.catalog().refresh()
    try:
        yield container
    finally:
        await container.database().aclose()
