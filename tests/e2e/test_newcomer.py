"""A newcomer's path with the sample lessons, through the command line's own processes and over HTTP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.newcomer.material import material_in

PROJECT = Path(__file__).parents[2]
SAMPLES = PROJECT / "config" / "samples"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """`memorygrid` of this checkout, wherever it is called."""
    script = tmp_path / "memorygrid"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(PROJECT)!r})\n"
        "from entrypoints.cli.main import main\nmain()\n"
    )
    script.chmod(0o755)
    return script


def _walk(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.newcomer", "--program", str(program), *arguments]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=300, check=False)


def test_from_the_demo_to_a_repaired_lesson(program: Path) -> None:
    done = _walk(program)
    assert done.returncode == 0, done.stdout + done.stderr
    said = {line[:24].strip(): line[36:] for line in done.stdout.splitlines()}
    assert list(said) == [
        "memorygrid demo", "memorygrid doctor", "lessons import", "review approve --all", "doctor of the service",
        "match 12 alerts", "let one lesson fail", "repair it", "see it match again", "feedback stats", "all",
    ]  # fmt: skip
    assert "21 imported" in said["lessons import"]
    assert "12 have their lesson first" in said["match 12 alerts"]
    assert "3 failed outcomes in review round 1; it matches no more" in said["let one lesson fail"]
    assert "review round 2: success" in said["see it match again"]
    # Beside the twelve alerts', one entry waits: of the lesson that stood in for the failed one.
    assert said["feedback stats"] == "1 success, 3 failure, 13 pending"


def test_a_step_that_goes_wrong_ends_it_with_the_reason(program: Path) -> None:
    program.write_text(program.read_text().replace("main()\n", "sys.exit(7)\n"))
    done = _walk(program)
    assert done.returncode == 1
    assert "demo ended with 7 instead of 0" in done.stderr


def test_a_folder_without_lessons_is_told(tmp_path: Path, program: Path) -> None:
    assert "does not hold lessons.jsonl and queries-dev.jsonl" in _walk(program, "--data", str(tmp_path)).stderr


def test_alerts_are_read_in_either_form(tmp_path: Path) -> None:
    (tmp_path / "lessons.jsonl").write_text('{"key": "DiskFull", "title": "Disk full", "body": "Free it."}\n')
    (tmp_path / "queries-dev.jsonl").write_text('{"query": "The disk is full.", "gold": "DiskFull"}\n\n')
    (alert,) = material_in(tmp_path).alerts
    assert alert == ("alert", {"alert": "The disk is full."}, "Disk full")
    assert material_in(SAMPLES).alerts[0].title == "Kube Pod Crash Looping"
