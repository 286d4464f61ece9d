"""The command line over local stores in a folder of the test's own."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from entrypoints.cli.main import app

RETRY: dict[str, object] = {
    "bin": "skills_base",
    "title": "Retry uploads with backoff",
    "body": "## Meaning\n\nWhen storage is degraded, retry uploads.\n",
    "tags": ["uploads"],
    "dsl_payload": {"action": "retry_with_backoff", "instruction_template": "Retry {operation} with backoff"},
    "source": "the tests",
}
PRICES: dict[str, object] = {
    "bin": "knowledge_base",
    "title": "Pricing tiers",
    "body": "Basic, team and enterprise.\n",
    "tags": [],
    "dsl_payload": None,
    "source": "the tests",
}


class Cli:
    """Runs commands as a user does."""

    def __call__(self, *arguments: str, code: int = 0, stdin: str | bytes | None = None) -> Result:
        """Runs one command, which must end with this exit code."""
        result = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="memorygrid")
        assert result.exit_code == code, f"{arguments} ended with {result.exit_code}:\n{result.output}"
        if code == 0:
            assert result.exception is None
        return result

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What a command prints with `--json`."""
        return msgspec.json.decode(self(*arguments, "--json", code=code).stdout)


@pytest.fixture
def bare_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with no settings but the defaults, and no databases yet."""
    for name in [name for name in os.environ if name.startswith(("MG_", "ANTHROPIC"))]:
        monkeypatch.delenv(name)
    for name in ("COLUMNS", "VISUAL", "EDITOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders to copy: `empty`, with databases of the present schema, and `stocked`, with two promoted lessons."""
    folder = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        (folder / "empty").mkdir()
        patch.chdir(folder / "empty")
        Cli()("db", "upgrade")
        shutil.copytree(folder / "empty", folder / "stocked")
        patch.chdir(folder / "stocked")
        Cli()("lessons", "import", str(write_rows(folder / "stock.jsonl", RETRY, PRICES)))
        Cli()("review", "approve", "--all", "--yes")
    return folder


@pytest.fixture
def home(bare_home: Path, prepared: Path) -> Path:
    """The working directory, with empty databases."""
    shutil.copytree(prepared / "empty", bare_home, dirs_exist_ok=True)
    return bare_home


@pytest.fixture
def cli(home: Path) -> Cli:
    return Cli()


@pytest.fixture
def stocked(home: Path, prepared: Path) -> Cli:
    """With two promoted lessons."""
    shutil.copytree(prepared / "stocked", home, dirs_exist_ok=True)
    return Cli()


SetEditor = Callable[[str], None]


@pytest.fixture
def set_editor(home: Path, monkeypatch: pytest.MonkeyPatch) -> SetEditor:
    """Makes EDITOR a program that does `code` with the file's `path`."""

    def set_to(code: str) -> None:
        program = home / "editor.py"
        program.write_text(f"import pathlib, sys\npath = pathlib.Path(sys.argv[1])\n{code}\n")
        monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(program)]))

    return set_to


def write_rows(path: Path, *rows: object) -> Path:
    """A file of JSON Lines; a text stands for itself."""
    lines = [row if isinstance(row, str) else msgspec.json.encode(row).decode() for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def id_of(cli: Cli, title: str) -> str:
    (found,) = (one for one in cli.json("lessons", "list") if one["title"] == title)
    return str(found["id"])
