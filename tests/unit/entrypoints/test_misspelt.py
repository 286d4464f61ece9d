"""A variable with a slip in its name is told, and not passed over in silence."""

from __future__ import annotations

import pytest

from entrypoints.apps import learner_app
from entrypoints.misspelt import misspelt
from entrypoints.settings import VARIABLES


def test_what_was_meant_is_named() -> None:
    assert misspelt(["MG_MATCH_STRATGY_MODE", "MG_API_KEY_S", "HOME"]) == {
        "MG_API_KEY_S": "MG_API_KEYS",
        "MG_MATCH_STRATGY_MODE": "MG_MATCH_STRATEGY_MODE",
    }


def test_what_is_read_and_what_is_like_nothing_is_passed_over() -> None:
    assert misspelt([*VARIABLES, "MG_URL", "MG_API_KEY", "MG_GARAGE_CARS", "MG_"]) == {}


def test_a_start_tells(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MG_LOG_LEVLE", "DEBUG")
    learner_app()
    assert "MG_LOG_LEVLE is set, but nothing reads it: did you mean MG_LOG_LEVEL?" in capsys.readouterr().err
