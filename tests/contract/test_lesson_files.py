"""What every lessons folder keeps to: the port's contract over the fake and the real adapter.

Another adapter joins by a line in `FOLDERS`. Its folder is empty when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

import anyio
import pytest

from adapters.lessons.skill_folder import SkillFolder
from application.learner.ports import LessonFiles
from domain.errors import StoreUnavailable
from domain.learner import agent_skill
from domain.learner.lesson import Bin, LessonDraft, PromotedLesson
from tests.contract.parameters import over
from tests.fakes.fake_lesson_files import FakeLessonFiles

ID = "0192f0c1-7d3a-7cc1-9f5e-0d7a3c6b2e11"
OTHER_ID = "0192f0c1-7d3a-7cc1-9f5e-0d7a3c6b2e12"


def copy(**other: Any) -> PromotedLesson:
    """A promoted copy with every field filled."""
    fields: dict[str, Any] = {
        "id": ID,
        "bin": Bin.SKILLS,
        "title": "Retry uploads: 'Zoë' \"漢字\"",
        "body": "\n# Meaning\r\n\r\n---\r\nΩ \U0001f9ea \u2028 no line end",
        "tags": ("uploads", "a, b", "\u2028 Ω"),
        "dsl_payload": {"action": "retry", "steps": [1, 2.5, None, True, {"a": "\u0085"}]},
        "version": 7,
        "review_round": 3,
        "promoted_at": datetime(2026, 10, 22, 10, 0, tzinfo=timezone.utc),
    }
    return PromotedLesson(**{**fields, **other})


class Folder(Protocol):
    """A folder under test: what is in it by path, and the string that a test pulls."""

    files: LessonFiles

    def texts(self) -> dict[str, str]: ...

    def goes_away(self) -> None: ...

    def comes_back(self) -> None: ...


class FakeFolder:
    def __init__(self, _: Path) -> None:
        self._fake = FakeLessonFiles()
        self.files: LessonFiles = self._fake

    def texts(self) -> dict[str, str]:
        return self._fake.texts

    def goes_away(self) -> None:
        self._fake.away = True

    def comes_back(self) -> None:
        self._fake.away = False


class RealFolder:
    """Goes away as a folder does whose disk is unmounted over a file of the same name."""

    def __init__(self, tmp_path: Path) -> None:
        self._root, self._elsewhere = tmp_path / "lessons", tmp_path / "elsewhere"
        self.files: LessonFiles = SkillFolder(self._root)

    def texts(self) -> dict[str, str]:
        found = self._root.rglob("SKILL.md")
        return {str(path.relative_to(self._root)): path.read_bytes().decode() for path in found}

    def goes_away(self) -> None:
        if self._root.exists():
            self._root.rename(self._elsewhere)
        self._root.touch()

    def comes_back(self) -> None:
        self._root.unlink()
        if self._elsewhere.exists():
            self._elsewhere.rename(self._root)


FOLDERS: dict[str, Callable[[Path], Folder]] = {"fake": FakeFolder, "skill folder": RealFolder}


@pytest.fixture(params=over(FOLDERS))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    return FOLDERS[request.param](tmp_path)


def path_of(lesson: PromotedLesson) -> str:
    return f"{lesson.bin.value}/{agent_skill.skill_name(lesson.title, lesson.id)}/SKILL.md"


async def test_a_new_folder_reflects_revision_0_and_holds_no_lesson(folder: Folder) -> None:
    assert await folder.files.revision() == 0
    assert folder.texts() == {}


async def test_a_promoted_lesson_is_a_folder_in_its_bin_with_the_whole_copy_in_it(folder: Folder) -> None:
    lesson = copy()
    await folder.files.apply([lesson], [], 1)
    assert folder.texts() == {path_of(lesson): agent_skill.render(lesson)}
    read = agent_skill.parse(folder.texts()[path_of(lesson)], folder=agent_skill.skill_name(lesson.title, lesson.id))
    assert read.draft == LessonDraft(
        bin=lesson.bin, title=lesson.title, body=lesson.body, tags=lesson.tags, dsl_payload=lesson.dsl_payload
    )
    assert (read.metadata["id"], read.metadata["version"], read.metadata["review_round"]) == (ID, "7", "3")


async def test_the_folder_reflects_the_revision_that_was_applied_last(folder: Folder) -> None:
    await folder.files.apply([copy()], [], 41)
    assert await folder.files.revision() == 41
    await folder.files.apply([], [], 7)
    assert await folder.files.revision() == 7


async def test_applying_a_change_twice_is_harmless(folder: Folder) -> None:
    await folder.files.apply([copy()], [OTHER_ID], 1)
    before = folder.texts()
    await folder.files.apply([copy()], [OTHER_ID], 1)
    assert folder.texts() == before


async def test_an_edited_lesson_replaces_its_file(folder: Folder) -> None:
    await folder.files.apply([copy()], [], 1)
    edited = copy(body="Shorter", version=8)
    await folder.files.apply([edited], [], 2)
    assert folder.texts() == {path_of(edited): agent_skill.render(edited)}


@pytest.mark.parametrize("change", [{"title": "Another title"}, {"bin": Bin.KNOWLEDGE}])
async def test_a_lessons_earlier_file_under_another_name_goes(folder: Folder, change: dict[str, Any]) -> None:
    await folder.files.apply([copy(), copy(id=OTHER_ID)], [], 1)
    moved = copy(**change)
    await folder.files.apply([moved], [], 2)
    assert set(folder.texts()) == {path_of(moved), path_of(copy(id=OTHER_ID))}


async def test_a_removed_lesson_has_no_file_and_one_without_a_file_is_no_error(folder: Folder) -> None:
    await folder.files.apply([copy(), copy(id=OTHER_ID)], [], 1)
    await folder.files.apply([], [ID, "unknown"], 2)
    assert set(folder.texts()) == {path_of(copy(id=OTHER_ID))}
    await folder.files.apply([], [ID], 3)
    assert await folder.files.revision() == 3


@pytest.mark.parametrize("title", ["../../etc/passwd", "..", "/", ".", "東京", "con", "a" * 500, "\u2028", "-- --"])
async def test_a_title_of_any_kind_names_a_folder_in_the_bin(folder: Folder, title: str) -> None:
    lesson = copy(title=title)
    await folder.files.apply([lesson], [], 1)
    (path,) = folder.texts()
    assert path == path_of(lesson)
    assert len(Path(path).parts) == 3


async def test_lessons_of_one_title_each_have_a_file(folder: Folder) -> None:
    lessons = [copy(id=f"0192f0c1-7d3a-7cc1-9f5e-{number:012x}") for number in range(20)]
    await folder.files.apply(lessons, [], 1)
    assert sorted(folder.texts()) == sorted(path_of(lesson) for lesson in lessons)


async def test_changes_that_come_at_once_all_happen(folder: Folder) -> None:
    lessons = [copy(id=f"0192f0c1-7d3a-7cc1-9f5e-{number:012x}") for number in range(20)]
    async with anyio.create_task_group() as group:
        for revision, lesson in enumerate(lessons, 1):
            group.start_soon(folder.files.apply, [lesson], [], revision)
    assert sorted(folder.texts()) == sorted(path_of(lesson) for lesson in lessons)
    assert await folder.files.revision() in range(1, 21)


async def test_a_folder_that_cannot_be_used_says_so_and_recovers(folder: Folder) -> None:
    await folder.files.apply([copy()], [], 1)
    folder.goes_away()
    with pytest.raises(StoreUnavailable, match="folder"):
        await folder.files.revision()
    with pytest.raises(StoreUnavailable, match="folder"):
        await folder.files.apply([copy(id=OTHER_ID)], [], 2)
    folder.comes_back()
    assert await folder.files.revision() == 1
    await folder.files.apply([copy(id=OTHER_ID)], [], 2)
    assert set(folder.texts()) == {path_of(copy()), path_of(copy(id=OTHER_ID))}
