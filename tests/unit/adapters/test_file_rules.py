"""The rules file may change, break and vanish while the service runs."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.rules import file_rules
from adapters.rules.file_rules import FileRules
from domain.errors import InvalidConfiguration
from domain.incorporator.rules import RuleSet

RULE = {"problem_type": "flaky_upload", "target_bin": "skills_base", "query": "retry uploads"}


def written(path: Path, *rules: dict[str, str]) -> None:
    path.write_text(json.dumps({"rules": rules}))


def loaded(path: Path, *, expected: bool = False) -> FileRules:
    rules = FileRules(path, every_s=0.0, expected=expected)
    rules.load()
    return rules


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.LogCaptureFixture]:
    """What the rules' own logger says, whoever has set logging up before."""
    logger = logging.getLogger(file_rules.__name__)
    monkeypatch.setattr(logger, "propagate", False)
    logger.addHandler(caplog.handler)
    with caplog.at_level(logging.INFO, logger.name):
        yield caplog
    logger.removeHandler(caplog.handler)


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


@pytest.mark.parametrize(
    "text",
    [
        '{"rules": [{"problem_type": "x", "target_bin": "skills"},]}',
        '{"rules": [{"problem_typ": "x"},\n{"a"',
        '{"rules": [{"x": 1}], "rules": 5}',
    ],
)
def test_a_wrong_rule_before_another_mistake_is_told_at_the_start_and_later(
    tmp_path: Path, said: pytest.LogCaptureFixture, text: str
) -> None:
    path = tmp_path / "rules.json"
    path.write_text(text)
    with pytest.raises(InvalidConfiguration, match=r"rules\.json, line \d: "):
        loaded(path)
    written(path, RULE)
    rules = loaded(path)
    path.write_text(text)
    assert len(rules.current().of("flaky_upload")) == 1
    assert "line " in (rules.problem() or "")
    assert "those before stay in force" in said.text


def test_a_fault_of_the_reading_itself_keeps_the_rules_before_and_is_told(
    tmp_path: Path, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(text: bytes, name: str) -> RuleSet:
        raise LookupError("an oversight")

    path = tmp_path / "rules.json"
    written(path, RULE)
    rules = loaded(path)
    with monkeypatch.context() as patched:
        patched.setattr(file_rules, "parse_rules", faulty)
        written(path, RULE, RULE)
        assert len(rules.current().of("flaky_upload")) == 1
        assert "an oversight" in (rules.problem() or "")
        assert "those before stay in force" in said.text
        with pytest.raises(InvalidConfiguration, match="an oversight"):
            loaded(path)
    written(path, RULE, RULE, RULE)
    assert len(rules.current().of("flaky_upload")) == 3
    assert rules.problem() is None


def test_a_file_that_is_not_there_has_no_rules(tmp_path: Path, said: pytest.LogCaptureFixture) -> None:
    rules = loaded(tmp_path / "rules.json")
    assert rules.current().all == ()
    assert rules.problem() is None
    (record,) = said.records
    assert record.levelname == "INFO"


def test_a_missing_file_that_somebody_named_is_a_problem(tmp_path: Path, said: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "rules.json"
    rules = loaded(path, expected=True)
    assert rules.current().all == ()
    assert f"no rules file at {path}" in (rules.problem() or "")
    (record,) = said.records
    assert (record.levelname, record.getMessage()) == ("WARNING", rules.problem())
    written(path, RULE)
    assert len(rules.current().all) == 1
    assert rules.problem() is None


def test_rules_that_vanish_are_a_problem(tmp_path: Path, said: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "rules.json"
    written(path, RULE)
    rules = loaded(path)
    path.unlink()
    assert rules.current().all == ()
    assert f"no rules file at {path}" in (rules.problem() or "")
    (record,) = said.records
    assert record.levelname == "WARNING"


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
