"""One lessons folder and several processes, one of which may be killed at any time."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from adapters.lessons.skill_folder import SkillFolder
from domain.errors import StoreUnavailable
from domain.learner import agent_skill
from domain.learner.lesson import Bin
from tests.contract.test_lesson_files import ID, copy

PROJECT = Path(__file__).parents[2]
NOTHING_ELSE = {"skills_base", "knowledge_base", ".catalog-revision"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lessons"


def locked(root: Path) -> int:
    """The root, created and held by somebody else; closing the descriptor lets go."""
    root.mkdir()
    held = os.open(root, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    return held


def contents(root: Path) -> list[str]:
    return [path.read_bytes().decode() for path in root.rglob("SKILL.md")]


def names_in(root: Path) -> set[str]:
    """Whatever is in the folder beside lessons."""
    return {path.name for path in root.rglob("*") if path.name != "SKILL.md" and not (path / "SKILL.md").exists()}


async def test_while_another_process_is_at_work_a_change_waits_and_the_event_loop_goes_on(root: Path) -> None:
    folder = SkillFolder(root, lock_timeout_s=0.3)
    held = locked(root)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.sleep(0.01)
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        with pytest.raises(StoreUnavailable, match="another process has been at work in it"):
            await folder.apply([copy()], [], 1)
        group.cancel_scope.cancel()
    assert turns >= 5
    os.close(held)
    await folder.apply([copy()], [], 1)
    assert await folder.revision() == 1


async def test_whoever_is_cancelled_does_not_wait_for_a_folder_that_hangs(root: Path) -> None:
    folder = SkillFolder(root, lock_timeout_s=60)
    held = locked(root)
    start = time.monotonic()
    with anyio.move_on_after(0.2):
        await folder.apply([copy()], [], 1)
    assert time.monotonic() - start < 30
    os.close(held)
    await folder.apply([], [], 2)
    assert await folder.revision() == 2
    assert len(contents(root)) == 1


async def test_processes_that_share_a_folder_leave_whole_files_and_one_a_lesson(root: Path) -> None:
    folders = [SkillFolder(root), SkillFolder(root)]
    versions = [copy(title=f"Title {number}", body=f"{number} " * 3_000) for number in range(8)]
    async with anyio.create_task_group() as group:
        for number, version in enumerate(versions):
            group.start_soon(folders[number % 2].apply, [version], [], number)
    (content,) = contents(root)
    assert content in {agent_skill.render(version) for version in versions}
    assert names_in(root) == NOTHING_ELSE


ENDLESS = """
import sys, anyio
from adapters.lessons.skill_folder import SkillFolder
from tests.contract.test_lesson_files import copy
async def main():
    folder, revision = SkillFolder(sys.argv[1]), 0
    while True:
        revision += 1
        await folder.apply([copy(title=f"Title {revision % 3}", body=f"{revision % 5}" * 50_000)], [], revision)
        print(revision, flush=True)
anyio.run(main)
"""


@pytest.mark.faults
def test_a_killed_process_leaves_whole_files_and_the_next_one_tidies_up(root: Path) -> None:
    for _ in range(3):
        killed_while_applying(root)
        for content in contents(root):
            draft = agent_skill.parse(content).draft
            assert len(draft.body) == 50_000
            assert len(set(draft.body)) == 1
    anyio.run(tidied, SkillFolder(root))
    assert names_in(root) == NOTHING_ELSE


async def tidied(folder: SkillFolder) -> None:
    assert await folder.revision() > 0
    await folder.apply([copy(bin=Bin.KNOWLEDGE)], [], 1)
    await folder.apply([], [ID], 2)


def killed_while_applying(root: Path) -> None:
    """Lets a process apply changes without end and kills it in the middle of one."""
    program = [sys.executable, "-c", ENDLESS, str(root)]
    with subprocess.Popen(program, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05)
        process.kill()
