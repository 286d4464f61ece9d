"""`memorygrid doctor`, `db` and `reindex`."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.servers.fixtures import require
from tests.servers.milvus import MilvusServer
from tests.unit.cli.conftest import Cli


def test_a_new_place_is_in_order_and_stays_empty(bare_home: Path) -> None:
    found = {one["name"]: one for one in Cli().json("doctor")}
    assert found["object_store"]["level"] == "attention"
    assert "made with the first start" in found["object_store"]["advice"]
    assert found["llm"]["level"] == "attention"
    assert "ANTHROPIC_API_KEY" in found["llm"]["advice"]
    assert list(bare_home.iterdir()) == []


def test_one_database_that_is_missing_does_not_hide_what_is_known_of_the_other(stocked: Cli, home: Path) -> None:
    (home / "memorygrid_feedback.db").unlink()
    found = {one["name"]: one for one in stocked.json("doctor")}
    assert found["feedback_database"]["level"] == "attention"
    assert found["vectors"]["found"] == "2 promoted lessons"
    assert "there is no file ./config/dsl_match_rules.json" in found["rules"]["found"]


def test_a_place_in_use_is_looked_at_as_a_whole(stocked: Cli) -> None:
    found = {one["name"]: one for one in stocked.json("doctor")}
    assert {name for name, one in found.items() if one["level"] == "ok"} == {
        "settings", "object_store", "feedback_database", "rules", "embedder", "vectors", "lessons_folder",
        "outbox", "escalations",
    }  # fmt: skip
    assert found["vectors"]["found"] == "2 promoted lessons"
    shown = stocked("doctor").stdout
    assert "✓  settings" in shown
    assert "!  llm" in shown


def test_unusable_settings_end_with_2_and_name_each_variable(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MG_EMBEDDER", "magic")
    monkeypatch.setenv("MG_FAILURE_THRESHOLD_X", "0")
    result = cli("doctor", code=2)
    assert "MG_EMBEDDER" in result.stdout
    assert "MG_FAILURE_THRESHOLD_X" in result.stdout


@pytest.mark.parametrize(("variable", "text"), [("MG_API_KEYS", "foo"), ("MG_LEARNER_API", "maybe")])
def test_settings_that_only_the_service_needs_are_checked_as_well(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    assert variable in cli("doctor", code=2).stdout


def test_a_rules_file_that_is_named_and_missing_asks_for_attention(
    stocked: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MG_DSL_MATCH_RULES_PATH", "nope.json")
    (rules,) = (one for one in stocked.json("doctor") if one["name"] == "rules")
    assert rules["level"] == "attention"
    assert "there is no file nope.json (MG_DSL_MATCH_RULES_PATH)" in rules["found"]
    assert "correct the path" in rules["advice"]
    assert "!  rules" in stocked("doctor").stdout


def test_broken_rules_are_bad(cli: Cli, home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "dsl_match_rules.json").write_text("{")
    result = cli("doctor", code=1)
    assert "✗  rules" in result.stdout
    assert "not in order: rules" in result.stderr


def test_a_wrong_rule_before_a_mistake_in_the_json_is_told_by_its_line(cli: Cli, home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "dsl_match_rules.json").write_text('{"rules": [{"problem_type": "x", "target_bin": "skills"},]}')
    assert "dsl_match_rules.json, line 1: " in cli("doctor", code=1).stdout
    assert "dsl_match_rules.json, line 1: " in cli("rules", "check", code=1).stderr


def test_a_database_that_is_away_is_bad_and_its_password_is_not_shown(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MG_FEEDBACK_TIDB_DSN", "postgresql+asyncpg://user:secret@127.0.0.1:1/none")
    result = cli("doctor", code=1)
    assert "✗  feedback_database" in result.stdout
    assert "cannot be used just now" in result.stdout
    assert "secret" not in result.output
    assert "secret" not in cli("db", "check", code=3).output


def test_a_file_that_is_no_database_is_told_with_what_to_do(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "notes.db").write_text("milk, eggs, bread\n" * 100)
    monkeypatch.setenv("MG_TIDB_DSN", f"sqlite+aiosqlite:///{home / 'notes.db'}")
    assert "correct its address" in " ".join(cli("doctor", code=1).stdout.split())
    shown = cli("db", "check", code=3).stderr
    assert "the object store cannot be used (its file is not a database): correct its address" in shown
    assert (home / "notes.db").read_text().startswith("milk")


def test_a_model_that_does_not_answer_is_told_when_asked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    levels = {one["name"]: one["level"] for one in cli.json("doctor")}
    assert levels["llm"] == "ok"
    levels = {one["name"]: one["level"] for one in cli.json("doctor", "--ask-llm")}
    assert levels["llm"] == "attention"


def test_vectors_of_another_embedder_are_bad_until_they_are_rebuilt(stocked: Cli, home: Path) -> None:
    _execute(home, "UPDATE lesson_vectors SET embedder = 'another-model'")
    result = stocked("doctor", code=1)
    assert "another-model" in result.stdout
    assert "memorygrid reindex" in result.stdout
    assert "memorygrid reindex" in stocked("match", "flaky_upload", code=2).stderr
    assert "2 promoted lessons are embedded" in stocked("reindex").stdout
    stocked("doctor")


def test_reindexing_makes_the_lessons_folder_anew(stocked: Cli, home: Path) -> None:
    shutil.rmtree(home / "lessons")
    stocked("reindex")
    assert len(list((home / "lessons").glob("*/*/SKILL.md"))) == 2


def test_missing_databases_are_a_no_and_are_made_by_an_upgrade(bare_home: Path) -> None:
    cli = Cli()
    assert [one["state"] for one in cli.json("db", "check", code=1)] == ["missing", "missing"]
    assert list(bare_home.iterdir()) == []
    assert [one["state"] for one in cli.json("db", "upgrade")] == ["up_to_date", "up_to_date"]
    assert "up_to_date" in cli("db", "check").stdout


def test_an_upgrade_of_a_database_that_is_up_to_date_changes_nothing(stocked: Cli) -> None:
    stocked("db", "upgrade")
    assert len(stocked.json("lessons", "list")) == 2


def test_a_database_of_a_newer_program_is_bad_and_left_alone(stocked: Cli, home: Path) -> None:
    _execute(home, "UPDATE alembic_version_lessons SET version_num = 'lessons_9999'")
    assert [one["state"] for one in stocked.json("db", "check", code=1)] == ["newer", "up_to_date"]
    assert "update the program" in stocked("db", "upgrade", code=2).stderr
    assert "Update the program" in stocked("doctor", code=1).stdout


def test_a_table_of_somebody_elses_is_refused_by_its_name_and_left_alone(bare_home: Path) -> None:
    _execute(bare_home, "CREATE TABLE lessons (id INTEGER, teacher TEXT)")
    cli = Cli()
    told = [
        cli("db", "check", code=1).stderr,
        cli("db", "upgrade", code=2).stderr,
        " ".join(cli("doctor", code=1).stdout.split()),
        cli("lessons", "list", code=2).stderr,
    ]
    for one in told:
        assert "a table lessons which this program did not make" in " ".join(one.split())
        assert "Traceback" not in one
    assert [one["state"] for one in cli.json("db", "check", code=1)] == ["unusable", "missing"]
    with sqlite3.connect(bare_home / "memorygrid_lessons.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("lessons",)]
    connection.close()


@pytest.mark.parametrize("table", ["lessons", "lesson_log", "lesson_requests"])
def test_a_database_that_takes_no_writes_is_bad_with_what_to_do(stocked: Cli, home: Path, table: str) -> None:
    _execute(home, f"DROP TABLE {table}")
    (found,) = (one for one in stocked.json("doctor", code=1) if one["name"] == "object_store")
    assert found["level"] == "bad"
    assert "its tables are gone" in found["found"]
    assert [one["state"] for one in stocked.json("db", "check", code=1)] == ["unusable", "up_to_date"]


@pytest.mark.parametrize("backend", ["pgvector", "milvus"])
def test_a_vector_store_that_is_away_is_told_before_the_first_start(
    bare_home: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    if backend == "milvus":
        require(MilvusServer)  # for its client
    address = {"pgvector": "postgresql://me:secret@127.0.0.1:1/none", "milvus": "http://127.0.0.1:1"}[backend]
    monkeypatch.setenv("MG_VECTOR_BACKEND", backend)
    monkeypatch.setenv("MG_VECTOR_DSN", address)
    (vectors,) = (one for one in Cli().json("doctor") if one["name"] == "vectors")
    assert vectors["level"] == "attention"
    assert "is out of reach" in vectors["found"]
    assert "MG_VECTOR_DSN" in vectors["advice"]
    assert "secret" not in str(vectors)
    assert list(bare_home.iterdir()) == []


def test_an_index_in_memory_that_is_behind_names_no_vector_store(
    stocked: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _execute(home, "DELETE FROM lesson_vectors")
    monkeypatch.setenv("MG_EMBEDDER", "http")
    monkeypatch.setenv("MG_EMBEDDER_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("MG_EMBEDDER_MODEL", "words")
    found = {one["name"]: one for one in stocked.json("doctor", code=1)}
    assert found["embedder"]["level"] == "bad"
    assert found["vectors"]["level"] == "attention"
    assert "MG_VECTOR_DSN" not in found["vectors"]["advice"]
    assert "embedder" in found["vectors"]["advice"]


def _execute(home: Path, statement: str) -> None:
    with sqlite3.connect(home / "memorygrid_lessons.db") as connection:
        connection.execute(statement)
    connection.close()
