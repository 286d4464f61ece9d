"""The lessons folder on a real disk: links, other people's folders and full disks."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from adapters.lessons.skill_folder import SkillFolder
from domain.errors import StoreUnavailable
from domain.learner import agent_skill
from domain.learner.lesson import PromotedLesson
from tests.contract.test_lesson_files import ID, OTHER_ID, copy

NAME = agent_skill.skill_name(copy().title, ID)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lessons"


@pytest.fixture
def folder(root: Path) -> SkillFolder:
    return SkillFolder(root)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the root with somebody's file in it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("somebody's")
    return outside


def names_in(path: Path) -> set[str]:
    return {each.name for each in path.iterdir()} if path.exists() else set()


def file_of(root: Path, lesson: PromotedLesson, attempt: int = 0) -> Path:
    return root / lesson.bin.value / agent_skill.skill_name(lesson.title, lesson.id, attempt) / "SKILL.md"


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """As on a full disk, no file of this process grows beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_nothing_is_created_before_the_first_change(root: Path, folder: SkillFolder) -> None:
    assert await folder.revision() == 0
    assert names_in(root.parent) == set()


async def test_a_file_that_is_right_already_is_not_touched(root: Path, folder: SkillFolder) -> None:
    await folder.apply([copy()], [], 1)
    before = file_of(root, copy()).stat()
    await folder.apply([copy()], [], 2)
    after = file_of(root, copy()).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


async def test_a_damaged_file_of_a_lesson_is_replaced(root: Path, folder: SkillFolder) -> None:
    await folder.apply([copy()], [], 1)
    file_of(root, copy()).write_bytes(b"\xff damaged")
    await folder.apply([copy()], [], 2)
    assert file_of(root, copy()).read_bytes().decode() == agent_skill.render(copy())


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff"])
async def test_an_unreadable_revision_counts_as_none(root: Path, folder: SkillFolder, content: bytes) -> None:
    await folder.apply([copy()], [], 5)
    (root / ".catalog-revision").write_bytes(content)
    assert await folder.revision() == 0


async def test_a_bin_that_is_a_link_is_not_written_through(root: Path, folder: SkillFolder, outside: Path) -> None:
    link = root / "skills_base"
    link.parent.mkdir()
    link.symlink_to(outside)
    with pytest.raises(StoreUnavailable, match=r"skills_base: Not a directory .*symbolic link"):
        await folder.apply([copy()], [ID], 1)
    assert names_in(outside) == {"SKILL.md"}
    assert await folder.revision() == 0


async def test_a_link_with_a_lessons_name_is_neither_followed_nor_removed(
    root: Path, folder: SkillFolder, outside: Path
) -> None:
    (root / "skills_base").mkdir(parents=True)
    (root / "skills_base" / NAME).symlink_to(outside)
    await folder.apply([copy()], [], 1)
    assert (outside / "SKILL.md").read_text() == "somebody's"
    assert agent_skill.parse(
        file_of(root, copy(), 1).read_bytes().decode(), folder=file_of(root, copy(), 1).parent.name
    )
    await folder.apply([], [ID], 2)
    assert not file_of(root, copy(), 1).exists()
    assert (root / "skills_base" / NAME / "SKILL.md").read_text() == "somebody's"


@pytest.mark.parametrize("name", ["SKILL.md", ".catalog-revision"])
async def test_a_file_that_is_a_link_is_replaced_and_not_written_through(
    root: Path, folder: SkillFolder, outside: Path, name: str
) -> None:
    place = file_of(root, copy()).parent if name == "SKILL.md" else root
    place.mkdir(parents=True)
    same = agent_skill.render(copy()) if name == "SKILL.md" else "3\n"
    (outside / "SKILL.md").write_bytes(same.encode())
    (place / name).symlink_to(outside / "SKILL.md")
    await folder.apply([copy()], [], 3)
    await folder.apply([copy(body="Other")], [], 3)
    assert (outside / "SKILL.md").read_bytes() == same.encode()
    assert not (place / name).is_symlink()
    assert await folder.revision() == 3


async def test_a_pipe_in_the_place_of_a_file_does_not_hang_anybody(root: Path, folder: SkillFolder) -> None:
    file_of(root, copy()).parent.mkdir(parents=True)
    os.mkfifo(file_of(root, copy()))
    with anyio.fail_after(5):
        await folder.apply([copy()], [], 1)
    assert file_of(root, copy()).is_file()


async def test_a_folder_in_the_place_of_a_file_is_an_error_that_names_the_place(
    root: Path, folder: SkillFolder
) -> None:
    file_of(root, copy()).mkdir(parents=True)
    with pytest.raises(StoreUnavailable, match=f"skills_base/{NAME}: Is a directory .*move it away"):
        await folder.apply([copy()], [], 1)


async def test_a_folder_that_was_never_finished_goes_with_the_lessons_other_files(
    root: Path, folder: SkillFolder
) -> None:
    unfinished = file_of(root, copy()).parent
    unfinished.mkdir(parents=True)
    (unfinished / ".tmp-0123456789abcdef").write_text("half a fi")
    await folder.apply([copy(title="Renamed")], [], 1)
    assert names_in(root / "skills_base") == {file_of(root, copy(title="Renamed")).parent.name}


async def test_other_peoples_folders_are_left_alone(root: Path, folder: SkillFolder) -> None:
    await folder.apply([copy()], [], 1)
    foreign = root / "skills_base" / "pdf-forms" / "SKILL.md"
    backup = root / "skills_base" / "backup-of-mine" / "SKILL.md"
    alike = root / "skills_base" / f"theirs-{agent_skill.digest(ID)}" / "SKILL.md"
    mixed = root / "skills_base" / f"mixed-{agent_skill.digest(OTHER_ID)}" / "SKILL.md"
    mine = agent_skill.render(copy())
    others = {foreign: "---\nname: pdf-forms\n---\n", backup: mine, alike: "x", mixed: mine}
    for path, text in others.items():
        path.parent.mkdir()
        path.write_bytes(text.encode())
    await folder.apply([copy(title="Renamed")], [], 2)
    await folder.apply([], [ID, OTHER_ID], 3)
    assert names_in(root / "skills_base") == {path.parent.name for path in others}


async def test_a_name_that_another_lesson_has_is_not_taken_from_it(root: Path, folder: SkillFolder) -> None:
    theirs = file_of(root, copy())
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(agent_skill.render(copy(id=OTHER_ID)).encode())
    await folder.apply([copy()], [], 1)
    assert agent_skill.lesson_id(theirs.read_bytes().decode()) == OTHER_ID
    assert agent_skill.lesson_id(file_of(root, copy(), 1).read_bytes().decode()) == ID


async def test_a_lesson_for_which_every_name_is_taken_is_an_error_that_names_the_place(
    root: Path, folder: SkillFolder
) -> None:
    (root / "skills_base").mkdir(parents=True)
    for attempt in range(3):
        file_of(root, copy(), attempt).parent.touch()
    with pytest.raises(StoreUnavailable, match=f"skills_base/{NAME}: something else has every name"):
        await folder.apply([copy()], [], 1)


async def test_what_somebody_put_beside_a_lessons_file_stays(root: Path, folder: SkillFolder) -> None:
    await folder.apply([copy()], [], 1)
    notes = file_of(root, copy()).with_name("notes.txt")
    notes.write_text("mine")
    await folder.apply([], [ID], 2)
    assert names_in(notes.parent) == {"notes.txt"}


async def test_a_full_disk_is_told_with_place_and_reason_and_leaves_no_half_a_file(
    root: Path, folder: SkillFolder
) -> None:
    await folder.apply([copy()], [], 1)
    big, small = copy(body="x" * 20_000), copy(id=OTHER_ID)
    with files_limited_to(4_096), pytest.raises(StoreUnavailable, match=f"skills_base/{NAME}: File too large"):
        await folder.apply([big, small], [], 2)
    assert file_of(root, copy()).read_bytes().decode() == agent_skill.render(copy())
    assert names_in(file_of(root, copy()).parent) == {"SKILL.md"}
    assert file_of(root, small).exists()
    assert await folder.revision() == 1
    await folder.apply([big, small], [], 2)
    assert file_of(root, big).read_bytes().decode() == agent_skill.render(big)
