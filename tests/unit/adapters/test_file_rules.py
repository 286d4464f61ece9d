"""The rules file may change, break and vanish while the service runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adapters.rules.file_rules import FileRules
from domain.errors import InvalidConfiguration

RULE = {"problem_type": "flaky_upload", "target_bin": "skills_base", "query": "retry uploads"}


def written(path: Path, *rules: dict[str, str]) -> None:
    path.write_text(json.dumps({"rules": rules}))


def loaded(path: Path) -> FileRules:
    rules = FileRules(path, every_s=0.0)
    rules.load()
    return rules


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    written(path, RULE)
    rules = loaded(path)
    assert len(rules.current().of("flaky_upload")) == 1
    written(path, RULE, {**RULE, "query": "retry with a backoff"})
    assert len(rules.current().of("flaky_upload")) == 2


def test_a_broken_change_keeps_the_rules_before_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    written(path, RULE)
    rules = loaded(path)
    path.write_text("[{")
    assert len(rules.current().of("flaky_upload")) == 1
    assert str(path) in (rules.problem() or "")
    written(path, RULE)
    assert rules.current().of("flaky_upload")
    assert rules.problem() is None


def test_a_file_that_is_not_there_has_no_rules(tmp_path: Path) -> None:
    assert loaded(tmp_path / "rules.json").current().all == ()


def test_a_pipe_in_the_place_of_the_file_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    os.mkfifo(path)
    with pytest.raises(InvalidConfiguration, match="is no file"):
        loaded(path)
    path.unlink()
    written(path, RULE)
    rules = loaded(path)
    path.unlink()
    os.mkfifo(path)
    assert len(rules.current().of("flaky_upload")) == 1
    assert "is no file" in (rules.problem() or "")


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="cannot be read"):
        loaded(tmp_path)
