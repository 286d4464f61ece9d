"""`memorygrid match`, `misses` and `rules`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.unit.cli.conftest import Cli, id_of

RULES = {
    "rules": [
        {"problem_type": "flaky_upload", "target_bin": "skills_base", "query": "retry uploads"},
        {"problem_type": "pricing", "target_bin": "knowledge_base", "query": "pricing", "min_score": 0.5},
    ]
}


@pytest.fixture
def rules(home: Path) -> Path:
    path = home / "config" / "dsl_match_rules.json"
    path.parent.mkdir()
    path.write_bytes(msgspec.json.encode(RULES))
    return path


def test_a_match_by_rule_is_explained(stocked: Cli, rules: Path) -> None:
    shown = stocked("match", "flaky_upload").stdout
    assert shown.startswith("Retry uploads with backoff\n")
    assert "matched by dsl, confidence 1.000" in shown
    assert "Action: retry_with_backoff" in shown
    assert "skills_base is searched for 'retry uploads'" in shown
    assert ">  Retry uploads with backoff  1.000" in shown


def test_without_a_rule_the_models_first_candidate_is_shown_as_such(stocked: Cli) -> None:
    result = stocked("match", "cost", "-c", "question=which pricing tier is it?")
    assert "the first that the language model is offered" in result.stdout
    assert "Note: there is no DSL rule for problem_type 'cost'" in result.stderr
    assert "(--llm asks it)" in result.stderr


def test_it_is_said_where_an_invoke_without_a_model_would_answer_no_match_and_only_there(stocked: Cli) -> None:
    note = "an invoke without a model would answer no match"
    far = ["match", "cost", "-c", "question=what does a bicycle cost in spring with three tiers of paint"]
    assert note in " ".join(stocked(*far).stderr.split())
    assert "no promoted lesson applies" in stocked(*far, "--llm", code=1).stderr
    near = ["match", "cost", "-c", "question=pricing tiers basic team enterprise"]
    assert note not in " ".join(stocked(*near).stderr.split())
    stocked(*near, "--llm")


def test_without_a_model_what_is_similar_enough_is_taken_and_the_reason_told(stocked: Cli) -> None:
    found = stocked.json("match", "cost", "--llm", "-c", "question=pricing tiers basic team enterprise")
    assert found["match"]["matched_entity_id"] == id_of(stocked, "Pricing tiers")
    assert found["match"]["fallback_reason"] == "llm_unavailable"
    assert "(llm_unavailable)" in stocked(
        "match", "cost", "--llm", "-c", "question=pricing tiers basic team enterprise"
    ).stdout  # fmt: skip


def test_no_match_is_a_no(stocked: Cli) -> None:
    assert "no promoted lesson applies" in stocked("match", "xyzzy", "--llm", code=1).stderr
    assert stocked.json("match", "xyzzy", "--llm", code=1)["match"] is None


def test_context_values_may_be_json(stocked: Cli, rules: Path) -> None:
    stocked("match", "flaky_upload", "-c", 'pod={"name": "checkout"}', "-c", "retries=3", "-d", "who=me=you")
    assert "NAME=VALUE" in stocked("match", "flaky_upload", "-c", "novalue", code=2).stderr


def test_there_are_no_misses_in_the_beginning(cli: Cli) -> None:
    assert cli.json("misses") == []
    assert cli("misses").stderr == "none\n"


def test_rules_are_listed_in_their_order(cli: Cli, rules: Path) -> None:
    assert [one["problem_type"] for one in cli.json("rules", "list")] == ["flaky_upload", "pricing"]
    assert "retry uploads" in cli("rules", "list").stdout


def test_rules_that_are_in_order_are_a_yes(cli: Cli, rules: Path) -> None:
    assert "2 rules" in cli("rules", "check").stdout
    assert cli.json("rules", "check", str(rules)) == {"file": str(rules), "rules": 2, "problem": None}


def test_broken_rules_are_a_no_with_line_and_reason(cli: Cli, home: Path) -> None:
    broken = home / "broken.json"
    broken.write_text('{"rules": [\n {"problem_type": "a", "target_bin": "skills"}\n]}')
    shown = cli("rules", "check", str(broken), code=1).stderr
    assert "broken.json, line 2" in shown
    assert "line 2" in cli.json("rules", "check", str(broken), code=1)["problem"]
    assert "line 2" in cli("rules", "list", str(broken), code=2).stderr


def test_missing_rules_are_a_no(cli: Cli) -> None:
    assert "no rules file at config/dsl_match_rules.json" in cli("rules", "check", code=1).stderr


def test_no_rule_for_a_type_and_a_rule_that_finds_nothing_are_told_apart(cli: Cli, stocked: Cli, home: Path) -> None:
    (home / "config").mkdir(exist_ok=True)
    rules = {"rules": [{"problem_type": "ruled", "target_bin": "skills_base", "query": "zzzz qqqq"}]}
    (home / "config" / "dsl_match_rules.json").write_bytes(msgspec.json.encode(rules))
    for lesson in cli.json("lessons", "list", "--bin", "skills_base"):
        cli("lessons", "disable", lesson["id"])
    told = cli.json("match", "ruled")["notes"]
    assert any("no DSL rule for problem_type 'ruled' found a lesson in its bin" in note for note in told)
    told = cli.json("match", "unruled")["notes"]
    assert any("there is no DSL rule for problem_type 'unruled'" in note for note in told)
