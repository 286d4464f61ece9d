"""Where there is no database, a command says so; only what adds lessons makes one, and only where one can be."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.unit.cli.conftest import RETRY, Cli, write_rows

UNKNOWN = "01a22cf4-3f65-7352-8e17-72bdba45f5da"
PROJECT = Path(__file__).parents[3]
AS_NOBODY = """
import os, sys
if os.geteuid() == 0:
    os.setreuid(65534, -1)
from entrypoints.cli.main import main
main(sys.argv[1:])
"""
LESSONS, FEEDBACK = "memorygrid_lessons.db", "memorygrid_feedback.db"


READING = [
    ["lessons", "list"],
    ["lessons", "export", "out"],
    ["review", "list"],
    ["match", "flaky_upload"],
    ["misses"],
    ["feedback", "list"],
    ["feedback", "stats"],
    ["escalations", "list"],
]


def contents(folder: Path) -> dict[str, bytes | None]:
    """All that lies in the folder, by its path; None for a folder."""
    found = {str(one.relative_to(folder)): one for one in folder.rglob("*")}
    return {name: one.read_bytes() if one.is_file() else None for name, one in found.items()}


@pytest.mark.parametrize(
    "command",
    [
        ["lessons", "list"],
        ["lessons", "show", UNKNOWN],
        ["lessons", "export", "out"],
        ["lessons", "disable", UNKNOWN],
        ["lessons", "erase", UNKNOWN, "--yes"],
        ["review", "list"],
        ["review", "show", UNKNOWN],
        ["review", "approve", UNKNOWN],
        ["match", "flaky_upload"],
        ["misses"],
        ["feedback", "list"],
        ["feedback", "stats"],
        ["escalations", "list"],
        ["escalations", "retry", "--failed"],
        ["reindex"],
    ],
)
def test_in_an_empty_folder_a_command_that_adds_nothing_makes_no_database(bare_home: Path, command: list[str]) -> None:
    said = " ".join(Cli()(*command, code=2).stderr.split())
    assert f"there is no database at ./{LESSONS} (MG_TIDB_DSN)" in said
    assert "memorygrid db upgrade" in said
    assert list(bare_home.iterdir()) == []


@pytest.mark.parametrize("command", [["misses"], ["feedback", "list"], ["feedback", "stats"], ["escalations", "list"]])
def test_what_is_of_feedback_needs_its_database_too(stocked: Cli, home: Path, command: list[str]) -> None:
    (home / FEEDBACK).unlink()
    assert f"there is no database at ./{FEEDBACK} (MG_FEEDBACK_TIDB_DSN)" in stocked(*command, code=2).stderr
    assert not (home / FEEDBACK).exists()


def test_adding_lessons_makes_a_database_and_says_so(bare_home: Path) -> None:
    said = Cli()("lessons", "add", "--title", "Retry", "--body", "Try again.").stderr
    assert "a new, empty one is made" in said
    assert (bare_home / LESSONS).exists()
    assert "empty" not in Cli()("lessons", "list").stderr


def test_importing_lessons_makes_a_database_and_says_so(bare_home: Path) -> None:
    rows = write_rows(bare_home / "rows.jsonl", RETRY)
    assert "a new, empty one is made" in Cli()("lessons", "import", str(rows)).stderr
    assert (bare_home / LESSONS).exists()


def test_a_dry_run_of_an_import_makes_no_database(bare_home: Path) -> None:
    rows = write_rows(bare_home / "rows.jsonl", RETRY, RETRY)
    done = Cli()("lessons", "import", str(rows), "--dry-run")
    assert "1 would be imported, 1 known already" in done.stdout
    assert "a new, empty one" not in done.stderr
    assert list(bare_home.iterdir()) == [rows]


@pytest.mark.parametrize("command", [*READING, ["lessons", "import", "rows.jsonl", "--dry-run"]])
@pytest.mark.parametrize("start", ["", "CREATE TABLE another_programs (id)"], ids=["empty", "another program's"])
def test_what_only_reads_makes_no_tables_where_there_are_none(bare_home: Path, command: list[str], start: str) -> None:
    write_rows(bare_home / "rows.jsonl", RETRY)
    for name in (LESSONS, FEEDBACK):
        (bare_home / name).touch()
        with sqlite3.connect(bare_home / name) as database:
            database.execute("PRAGMA journal_mode = WAL" if start else "SELECT 1")
            database.executescript(start)
        database.close()
    before = contents(bare_home)
    tries = command[-1] == "--dry-run"
    said = " ".join(Cli()(*command, code=0 if tries else 2).stderr.split())
    assert tries or "`memorygrid db upgrade`" in said
    assert not (tries and start) or "has no tables of this service yet: an import makes them" in said
    assert contents(bare_home) == before


@pytest.mark.parametrize(
    ("command", "code"), [("misses", 2), ("feedback list", 2), ("escalations list", 2), ("match flaky_upload", 0)]
)
def test_a_feedback_database_of_another_program_is_left_as_it_is(
    stocked: Cli, home: Path, command: str, code: int
) -> None:
    (home / FEEDBACK).unlink()
    with sqlite3.connect(home / FEEDBACK) as database:
        database.executescript("PRAGMA journal_mode = WAL; CREATE TABLE another_programs (id)")
    database.close()
    before = (home / FEEDBACK).read_bytes()
    stocked(*command.split(), code=code)
    assert (home / FEEDBACK).read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        ["lessons", "list"],
        ["lessons", "import", "rows.jsonl", "--dry-run"],
        ["lessons", "import", "rows.jsonl"],
        ["lessons", "add", "--title", "A", "--body", "B"],
    ],
)
def test_a_database_of_a_later_version_is_not_tried_and_the_program_is_to_be_updated(
    stocked: Cli, home: Path, command: list[str]
) -> None:
    write_rows(home / "rows.jsonl", RETRY)
    with sqlite3.connect(home / LESSONS) as database:
        database.execute("UPDATE alembic_version_lessons SET version_num = 'lessons_9999'")
    database.close()
    said = " ".join(stocked(*command, code=2).stderr.split())
    assert "has the tables of schema revision lessons_9999" in said
    assert "update the program" in said


@pytest.mark.parametrize("command", [["escalations", "list"], ["escalations", "retry", "--failed"]])
def test_so_it_is_with_the_feedbacks_database(stocked: Cli, home: Path, command: list[str]) -> None:
    with sqlite3.connect(home / FEEDBACK) as database:
        database.execute("UPDATE alembic_version_feedback SET version_num = 'feedback_9999'")
    database.close()
    said = " ".join(stocked(*command, code=2).stderr.split())
    assert "has the tables of schema revision feedback_9999" in said
    assert "update the program" in said


@pytest.mark.parametrize(
    "command", [["match", "flaky_upload"], ["match", "flaky_upload", "--llm"], ["lessons", "list"]]
)
def test_what_only_reads_leaves_the_lessons_folder_alone(stocked: Cli, home: Path, command: list[str]) -> None:
    shutil.rmtree(home / "lessons")
    before = contents(home)
    stocked(*command)
    assert contents(home) == before


@pytest.mark.parametrize(
    "command", [["lessons", "list"], ["lessons", "add", "--title", "A", "--body", "B"], ["db", "upgrade"]]
)
@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("file/lessons.db", "a part of that path is a file: correct the address"),
        ("nowhere/lessons.db", "there is no such folder: make it, or correct the address"),
        ("folder", "that is no file: correct the address"),
        ("file", "that file is no SQLite database: correct the address"),
        ("x" * 300, "file name too long: correct the address, or the rights"),
    ],
)
def test_a_place_where_no_database_can_be_ends_with_2_and_what_to_do(
    bare_home: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], place: str, problem: str
) -> None:
    (bare_home / "file").write_text("a text")
    (bare_home / "folder").mkdir()
    monkeypatch.setenv("MG_TIDB_DSN", f"sqlite+aiosqlite:///./{place}")
    said = Cli()(*command, code=2).stderr
    assert f"the object store cannot be at ./{place} (MG_TIDB_DSN): {problem}" in said
    assert "a new, empty one is made" not in said
    assert sorted(one.name for one in bare_home.iterdir()) == ["file", "folder"]


def test_a_folder_without_the_right_to_write_ends_with_2() -> None:
    """As a user who is not root, whom nothing stops."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "locked").mkdir(mode=0o555)
        Path(folder).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, "lessons", "add", "--title", "A", "--body", "B"],
            cwd=folder,
            env={"PYTHONPATH": str(PROJECT), "MG_TIDB_DSN": "sqlite+aiosqlite:///./locked/lessons.db"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert "you may not make files in that folder" in " ".join(done.stderr.split())
    assert done.returncode == 2
