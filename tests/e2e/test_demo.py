"""The demo, run as a newcomer runs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.demo import run, samples

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of somebody whose own configuration must not matter."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MG_TIDB_DSN", f"sqlite+aiosqlite:///{tmp_path}/users_own.db")
    monkeypatch.setenv("MG_API_KEYS", "admin:users-own-key")
    monkeypatch.setenv("MG_FAILURE_THRESHOLD_X", "not a number")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


def test_the_story_comes_out_well_tells_every_turn_in_plain_text_and_leaves_nothing_behind(home: Path) -> None:
    finished = subprocess.run(_command(), env=_environment(), capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    told = " ".join(finished.stdout.split())
    turns = [
        "1. Lessons come in",
        "✓ Nobody has reviewed them yet, so none of them matches: invoke answers 404",
        "✓ All of them are approved",
        "The answer is one action (clear_failed_job)",
        "KubeDeploymentReplicasMismatch similar 0.",
        "✓ 12 of 12 alerts found the runbook that they link to",
        "(fallback_reason: llm_unavailable)",
        "✓ No lesson is about this: invoke answers 404",
        "Lesson Reason Success Failure Pending",
        "Kube Job Failed 3 failed outcomes in review",
        "✓ With failure 3 the lesson is back in the review queue, with its reason and its counts",
        "version 2 becomes 3, promoted again",
        "✓ The repaired lesson matches, works, and is out of review",
        "all 12 that were used 13 3 1 81%",
        "All 9 expectations came true",
    ]
    places = [told.find(turn) for turn in turns]
    assert -1 not in places, f"not told: {turns[places.index(-1)]}\n{finished.stdout}"
    assert places == sorted(places)
    lines = finished.stdout.splitlines()
    assert all(len(line) <= 80 and line == line.rstrip() and "\x1b" not in line for line in lines)
    assert list(home.iterdir()) == []


def test_an_expectation_that_does_not_come_true_fails_the_demo_and_keeps_its_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alerts = samples.alerts()
    wrong = samples.Alert(
        problem_type=alerts[0].problem_type,
        current_task_context=alerts[0].current_task_context,
        lesson_title="Some other runbook",
    )
    monkeypatch.setattr(samples, "alerts", lambda: [wrong, *alerts[1:]])
    with pytest.raises(Failure, match="1 expectations did not come true") as failed:
        run.tell_story(home / ".demo", keep=False)
    assert failed.value.code is ExitCode.NO
    assert "✗ 11 of 12 alerts found the runbook that they link to" in capsys.readouterr().out
    assert len(list((home / ".demo").glob("story-*/service.log"))) == 1


def test_serving_seeds_the_lessons_once_and_ends_in_order_with_an_interrupt(home: Path) -> None:
    with _serving() as (url, first):
        response = httpx.get(f"{url}/lessons?status=promoted", trust_env=False)
        lesson = response.json()[0]["id"]
        httpx.post(f"{url}/lessons/{lesson}/disable", trust_env=False).raise_for_status()
    with _serving() as (url, second):
        promoted = httpx.get(f"{url}/lessons?status=promoted", trust_env=False).json()
    assert len(response.json()) == len(samples.lessons()) == 1 + len(promoted)
    assert "✓ 21 sample lessons are imported and approved" in first
    assert "21 lessons are here from the last time" in second
    assert {one.name for one in home.iterdir()} == {".demo"}


def test_serving_leaves_a_folder_alone_that_is_not_the_demos(home: Path) -> None:
    foreign = home / ".demo" / "serve" / "thesis.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("years of work")
    with pytest.raises(Failure, match="not the demo's") as failed:
        run.serve(home / ".demo", port=0, fresh=True)
    assert failed.value.code is ExitCode.USAGE
    assert foreign.read_text() == "years of work"


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "entrypoints.demo", *arguments]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONUTF8": "1"}


def _interrupt() -> signal.Signals:
    """As Ctrl-C; where this run ignores that signal, as a background job does, its children cannot hear it either."""
    return signal.SIGTERM if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIGINT


@contextmanager
def _serving() -> Iterator[tuple[str, str]]:
    """The address that it says it serves on, and what it said until then."""
    process = subprocess.Popen(
        _command("--serve", "--port", "0"), env=_environment(), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = ""
    try:
        while (line := process.stdout.readline()) and "memorygrid --url" not in said:
            said += line
        address = re.search(r"serves on (http://127\.0\.0\.1:\d+)", said)
        assert address is not None, said
        yield address[1], said
        process.send_signal(_interrupt())
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
