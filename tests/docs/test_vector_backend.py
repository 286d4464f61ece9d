"""The vector backend that the documentation builds keeps to the port's contract, and to the project's style."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import PROJECT, blocks_of

_PAGE = PROJECT / "docs" / "how-to" / "vector-backend.md"
_CONTRACT = PROJECT / "tests" / "contract" / "test_vector_index.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The adapter and the contract suite with the page's lines put in, as files of their own."""
    adapter, joining = (block.text for block in blocks_of(_PAGE) if block.language == "python")
    suite = _CONTRACT.read_text(encoding="utf-8")
    imports, lines = joining.split("\n\n\n", 1)
    place = re.search(r"^INDICES = \{.*?\}\n", suite, re.MULTILINE | re.DOTALL)
    assert place is not None
    suite = f"{suite[: place.end()]}\n\n{imports.replace('adapters.vectors.', '')}\n\n\n{lines}{suite[place.end() :]}"
    (tmp_path / "sqlite_index.py").write_text(adapter, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(suite, encoding="utf-8")
    (tmp_path / "conftest.py").write_text("from tests.conftest import anyio_backend\n")
    return tmp_path


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}{folder}", "MYPYPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_it_passes_the_contract_suite(folder: Path) -> None:
    options = (
        "-q",
        "-k",
        "sqlite",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
        "-c",
        os.devnull,
        "--rootdir",
        str(folder),
    )
    done = ran(folder, "pytest", *options, "-o", "anyio_mode=auto", "--import-mode=importlib", "test_it.py")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 20, done.stdout


def test_it_is_typed_and_formatted(folder: Path) -> None:
    adapter = folder / "sqlite_index.py"
    config = ("--config", str(PROJECT / "pyproject.toml"))
    for check in (("ruff", "format", "--check", *config), ("ruff", "check", "--ignore", "S608", *config)):
        done = ran(PROJECT, *check, str(adapter))
        assert done.returncode == 0, done.stdout + done.stderr
    done = ran(folder, "mypy", "--strict", "--config-file", os.devnull, "--follow-imports=silent", str(adapter))
    assert done.returncode == 0, done.stdout
