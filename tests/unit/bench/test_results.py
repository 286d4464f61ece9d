"""The commit that a file of results says it is of, from real repositories, and how the page shows it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.bench import report, results


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With a module, a page and a file of results, all of them committed."""
    git(tmp_path, "init", "--quiet")
    for name in ("module.py", "docs/performance.md", "tests/bench/results/peers.json"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("as it was")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "The beginning")
    return tmp_path


def test_it_is_the_short_hash(repository: Path) -> None:
    assert results.commit(repository) == git(repository, "rev-parse", "--short", "HEAD")


def test_what_differs_from_the_commit_shows(repository: Path) -> None:
    (repository / "module.py").write_text("as it is")

    assert results.commit(repository) == git(repository, "rev-parse", "--short", "HEAD") + "+"


def test_what_a_run_writes_itself_does_not_count(repository: Path) -> None:
    for name in ("docs/performance.md", "tests/bench/results/peers.json", "tests/bench/results/new.json"):
        (repository / name).write_text("as it is")

    assert results.commit(repository) == git(repository, "rev-parse", "--short", "HEAD")


def test_it_is_absent_without_a_repository(tmp_path: Path) -> None:
    assert results.commit(tmp_path) is None


@pytest.mark.parametrize(
    ("commit", "shown"),
    [
        pytest.param({"commit": "7c86bad+"}, "SQLite 3.40.1; commit 7c86bad+.*", id="of a commit"),
        pytest.param({"commit": None}, "SQLite 3.40.1.*", id="without a repository"),
        pytest.param({}, "SQLite 3.40.1.*", id="of before"),
    ],
)
def test_the_page_names_the_commit_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: dict[str, str | None], shown: str
) -> None:
    found = {
        "at": "2026-12-01T00:00:00+00:00",
        "machine": {"processor": "a processor", "cores": 2, "load_average": 0.1},
        "versions": {"python": "3.11.7", "sqlite": "3.40.1"},
        "stages": [{"name": "match", "cpu_us": 18.6}],
    }
    (tmp_path / "stages.json").write_bytes(msgspec.json.encode({**found, **commit}))
    monkeypatch.setattr(results, "HERE", tmp_path)

    page = report.filled("<!-- figures: stages -->\n<!-- end -->")

    assert shown in page.splitlines()[-2]
