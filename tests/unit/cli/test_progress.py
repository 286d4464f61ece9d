"""Progress shows on a terminal's standard error, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from entrypoints.cli import progress


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal on standard error is sent."""
    shown = io.StringIO()
    screen = Console(file=shown, force_terminal=True, width=80)
    monkeypatch.setattr(progress, "_screen", lambda: screen)
    return shown


def test_a_bar_counts_the_items_and_leaves_standard_output_alone(terminal: io.StringIO) -> None:
    before = sys.stdout
    seen = []
    for item in progress.each(["a", "b", "c"], "Reading"):
        assert sys.stdout is before
        seen.append(item)
    assert seen == ["a", "b", "c"]
    assert "Reading" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_a_bar_may_count_what_the_items_hold(terminal: io.StringIO) -> None:
    assert list(progress.each([["a"] * 25, ["b"] * 3], "Importing", len))
    assert "28/28" in terminal.getvalue()


def test_one_item_needs_no_bar(terminal: io.StringIO) -> None:
    assert list(progress.each(["a"], "Reading")) == ["a"]
    assert "Reading" not in terminal.getvalue()


def test_a_bar_shows_how_far_something_says_it_has_come(terminal: io.StringIO) -> None:
    with progress.telling("Embedding") as told:
        told(500, 1_200)
        told(1_200, 1_200)
    assert "Embedding" in terminal.getvalue()
    assert "1200/1200" in terminal.getvalue()


def test_waiting_shows_a_sign_of_life(terminal: io.StringIO) -> None:
    with progress.waiting("Checking"):
        pass
    assert "Checking" in terminal.getvalue()


def test_a_bar_may_stand_within_a_sign_of_life(terminal: io.StringIO) -> None:
    with progress.waiting("Checking"):
        assert list(progress.each(["a", "b"], "Reading")) == ["a", "b"]
        with progress.waiting("Looking"):
            pass
    assert "Checking" in terminal.getvalue()
    assert terminal.getvalue().count("\x1b[?25l") == terminal.getvalue().count("\x1b[?25h") == 1


def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.waiting("Checking"):
        assert list(progress.each(["a", "b"], "Reading")) == ["a", "b"]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
