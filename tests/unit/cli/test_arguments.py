"""What every command has in common: where it works, its help, its exit codes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from entrypoints.cli.failures import MEANINGS
from entrypoints.cli.main import hoisted
from tests.unit.cli.conftest import Cli

PROJECT = Path(__file__).parents[3]
COMMANDS = [
    "serve", "demo", "doctor", "reindex", "match", "misses",
    "lessons add", "lessons list", "lessons show", "lessons import", "lessons export", "lessons disable",
    "lessons erase", "review list", "review show", "review approve", "review edit", "review reject",
    "feedback list", "feedback stats", "rules check", "rules list", "escalations list", "escalations retry",
    "db check", "db upgrade",
]  # fmt: skip


def test_address_and_key_may_stand_anywhere() -> None:
    assert hoisted(["lessons", "list", "--url", "http://a", "--json", "--api-key=k"]) == [
        "--url", "http://a", "--api-key=k", "lessons", "list", "--json",
    ]  # fmt: skip


def test_what_follows_two_hyphens_stays_where_it_is() -> None:
    assert hoisted(["match", "--", "--url", "x"]) == ["match", "--", "--url", "x"]
    assert hoisted(["match", "--url"]) == ["--url", "match"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(cli: Cli, command: str) -> None:
    shown = cli(*command.split(), "--help").stdout
    assert f"Usage: memorygrid {command}" in shown


def test_the_help_documents_every_exit_code(cli: Cli) -> None:
    shown = " ".join(cli("--help").stdout.split())
    for code, meaning in MEANINGS.items():
        assert f"{int(code)}: {meaning}"[:40] in shown


def test_the_help_loads_neither_the_service_nor_an_http_client() -> None:
    code = (
        "import sys\nfrom entrypoints.cli.main import app\n"
        "heavy = {'httpx', 'litestar', 'sqlalchemy', 'numpy', 'anthropic', 'yaml', 'uvicorn'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    finished = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def test_a_mistyped_command_is_a_usage_error_with_a_suggestion(cli: Cli) -> None:
    assert "lessons" in cli("lesons", "list", code=2).stderr


def test_an_unusable_configuration_is_told_in_full_and_ends_with_2(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MG_TIDB_DSN", "oracle://scott:tiger@host/db")
    monkeypatch.setenv("MG_LLM_TIMEOUT_S", "soon")
    shown = cli("lessons", "list", code=2).stderr
    assert "MG_TIDB_DSN" in shown
    assert "MG_LLM_TIMEOUT_S" in shown
    assert "tiger" not in shown


def test_a_store_out_of_reach_ends_with_3(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MG_TIDB_DSN", "postgresql+asyncpg://user:secret@127.0.0.1:1/none")
    shown = cli("lessons", "list", code=3).stderr
    assert "the object store cannot be used just now" in shown
    assert "secret" not in shown


def test_a_service_out_of_reach_ends_with_3(cli: Cli) -> None:
    assert "is the service running?" in cli("lessons", "list", "--url", "http://127.0.0.1:1", code=3).stderr


@pytest.mark.parametrize("url", ["localhost:8001", "ftp://localhost", "http://", "nonsense", "http://x:99999"])
def test_an_address_that_is_none_ends_with_2(cli: Cli, url: str) -> None:
    assert "no address of the form" in cli("lessons", "list", "--url", url, code=2).stderr


def test_a_key_that_no_header_can_carry_ends_with_2_and_is_not_shown(cli: Cli) -> None:
    shown = cli("lessons", "list", "--url", "http://127.0.0.1:1", "--api-key", "sécret\nkey", code=2).stderr
    assert "API key" in shown
    assert "cret" not in shown


def test_a_key_beside_an_address_with_a_user_ends_with_2_and_neither_is_shown(cli: Cli) -> None:
    shown = cli("lessons", "list", "--url", "http://ann:tiger@127.0.0.1:1", "--api-key", "lion", code=2).stderr
    assert "cannot both be sent as Authorization" in shown
    assert "tiger" not in shown
    assert "lion" not in shown


@pytest.mark.parametrize("command", ["reindex", "db check", "db upgrade"])
def test_what_works_on_the_stores_does_not_take_an_address(cli: Cli, command: str) -> None:
    assert "without --url" in cli(*command.split(), "--url", "http://127.0.0.1:1", code=2).stderr


def test_output_that_cannot_be_written_ends_the_command_in_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("entrypoints.cli.lessons.print_json", full)
    error = cli("lessons", "list", "--json", code=2).stderr
    assert "cannot be written: No space left on device" in error
    assert "Traceback" not in error


def test_every_wrong_variable_has_a_line_of_its_own(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MG_MATCH_STRATEGY_MODE", "foo")
    monkeypatch.setenv("MG_SEARCH", "bar")
    told = cli("misses", code=2).stderr.splitlines()
    assert [line.split(":")[0].strip() for line in told[1:3]] == ["- MG_MATCH_STRATEGY_MODE", "- MG_SEARCH"]


@pytest.mark.parametrize(
    "command",
    [
        "lessons list --tag", "lessons show", "lessons add --title", "lessons import x --source",
        "review approve --note", "review reject", "feedback list --lesson", "match", "match x --context",
        "escalations retry", "serve --host", "lessons list --url", "--api-key",
    ],
)  # fmt: skip
def test_a_text_that_is_no_utf_8_ends_with_2_and_names_its_option(cli: Cli, command: str) -> None:
    told = " ".join(cli(*command.split(), "\udcff", code=2).stderr.split())
    assert "this is no text in" in told
    assert (command.rpartition(" ")[2] if "--" in command else "Invalid value for") in told


def test_a_path_that_is_no_utf_8_is_a_path_as_any_other(stocked: Cli) -> None:
    assert "2 written" in stocked("lessons", "export", "out\udcff").stdout
    assert "2 known already" in stocked("lessons", "import", "out\udcff").stdout
