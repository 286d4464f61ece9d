"""The distributions build, install into clean environments, and run there, far from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.calls import answered, promoted
from tests.e2e.service import Service
from tests.integration.installed import InstalledService, run

PROJECT = Path(__file__).parents[2]

_HOST = {
    "domain/__init__.py": '"""The host\'s own."""\nNAME = "the host\'s domain"\n',
    "adapters/__init__.py": '"""The host\'s own."""\nNAME = "the host\'s adapters"\n',
    "host.py": """
import asyncio
import sys

import adapters
import domain
from memorygrid_incorporator.pipeline.incorporator_hook import IncorporatorHookClient, SyncIncorporatorHookClient


async def main(url: str) -> None:
    async with IncorporatorHookClient(url) as hook:
        async with hook.step(
            session_id="host",
            problem_solving_step_ref="1",
            problem_type="flaky_upload",
            current_task_context={"operation": "upload report.pdf"},
        ) as step:
            assert step.outcome is not None
            print(domain.NAME, "|", adapters.NAME, "|", step.outcome.instruction)


asyncio.run(main(sys.argv[1]))
with SyncIncorporatorHookClient(sys.argv[1]) as sync_hook:
    entry = sync_hook.report_outcome("1", "host", succeeded=True)
    print(entry.result_flag, entry.usage_count)
""",
}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the service's wheel and source distribution, and the hook client's wheel."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], PROJECT)
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], PROJECT / "packages" / "hook")
    return folder


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def files_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def environment(folder: Path) -> Path:
    """A new environment's Python."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def test_the_wheel_holds_all_that_runs_and_no_tests(dist: Path) -> None:
    files = files_in(only(dist, "memorygrid_incorporator-*.whl"))
    needed = {
        "adapters/sql/migrations/env.py",
        "adapters/sql/migrations/lessons/lessons_0001.py",
        "adapters/sql/migrations/feedback/feedback_0001.py",
        "entrypoints/demo/config/dsl_match_rules.json",
        "entrypoints/demo/config/samples/runbooks.jsonl",
        "memorygrid_incorporator/py.typed",
        "memorygrid_learner/main.py",
    }
    assert needed <= files
    tops = {"domain", "application", "adapters", "entrypoints", "memorygrid_incorporator", "memorygrid_learner"}
    assert {name.split("/")[0] for name in files} == tops
    assert {f"{top}/py.typed" for top in tops} <= files


def test_the_source_distribution_builds_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    with tarfile.open(only(dist, "memorygrid_incorporator-*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    source = only(tmp_path, "memorygrid_incorporator-*")
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "again")], source)
    again = only(tmp_path / "again", "*.whl")
    assert files_in(again) == files_in(only(dist, "memorygrid_incorporator-*.whl"))


def test_the_two_distributions_share_files_only_where_they_are_the_same(dist: Path) -> None:
    hook, service = only(dist, "memorygrid_hook-*.whl"), only(dist, "memorygrid_incorporator-*.whl")
    names = files_in(hook)
    assert {name.rpartition("/")[0] for name in names} == {
        "memorygrid_incorporator",
        "memorygrid_incorporator/pipeline",
    }
    assert names <= files_in(service)
    with zipfile.ZipFile(hook) as one, zipfile.ZipFile(service) as other:
        assert all(one.read(name) == other.read(name) for name in names)
    assert hook.name.split("-")[1] == service.name.split("-")[1]


def test_the_installed_service_runs_in_a_clean_environment(dist: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "clean")
    run(
        [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-compile",
            "--require-hashes",
            "-r",
            str(PROJECT / "requirements.txt"),
        ],
        tmp_path,
    )
    run(
        [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-compile",
            "--no-deps",
            str(only(dist, "memorygrid_incorporator-*.whl")),
        ],
        tmp_path,
    )
    run([python, "-m", "pip", "check"], tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    with InstalledService(python, home) as service, service.client() as client:
        promoted(client, title="Flaky upload")
        outcome = answered(client.post("/incorporator/invoke", json=_query()))
        assert outcome["action"] == "retry_with_backoff"
        assert list((home / "lessons" / "skills_base").iterdir())
    told = run([python.parent / "memorygrid", "demo"], tmp_path)
    assert re.search(r"All \d+ expectations came true", told)


@pytest.fixture(scope="module")
def host(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A host project with packages of its own called `domain` and `adapters`, and its environment's Python."""
    folder = tmp_path_factory.mktemp("host")
    for name, text in _HOST.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    python = environment(folder / ".venv")
    pins = re.findall(r"^(\S+==\S+)(?: ;.*)? \\$", (PROJECT / "requirements.txt").read_text(), re.MULTILINE)
    (folder / "constraints.txt").write_text("\n".join(pins))
    wheel = only(dist, "memorygrid_hook-*.whl")
    run([python, "-m", "pip", "install", "-q", "--no-compile", "-c", "constraints.txt", str(wheel)], folder)
    return folder, python


def test_the_hook_alone_needs_only_httpx_and_msgspec(host: tuple[Path, Path]) -> None:
    folder, python = host
    listed = run([python, "-m", "pip", "list", "--format=freeze"], folder)
    names = {line.split("==")[0].lower() for line in listed.split()}
    httpx_needs = {
        "httpx",
        "httpcore",
        "h11",
        "anyio",
        "certifi",
        "idna",
        "sniffio",
        "typing-extensions",
        "typing_extensions",
    }
    assert names - httpx_needs - {"pip", "setuptools", "exceptiongroup"} == {"memorygrid-hook", "msgspec"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    started = Service(tmp_path)
    started.write_rules([{"problem_type": "flaky_upload", "target_bin": "skills_base", "query": "retry uploads"}])
    yield started.start()
    started.kill()


def test_a_host_with_a_domain_and_adapters_of_its_own_uses_the_hook(host: tuple[Path, Path], service: Service) -> None:
    folder, python = host
    with service.client() as client:
        promoted(client)
    told = run([python, "-W", "error", "host.py", service.url], folder)
    assert told.splitlines() == [
        "the host's domain | the host's adapters | Retry upload report.pdf with backoff",
        "success 3",
    ]


def test_the_host_is_type_checked_against_the_installed_hook(host: tuple[Path, Path]) -> None:
    folder, python = host
    strict = ["--strict", "--config-file", os.devnull, "--cache-dir", str(folder / ".mypy_cache")]
    run([sys.executable, "-m", "mypy", *strict, "--python-executable", str(python), "host.py"], folder)
    wrong = "from memorygrid_incorporator.pipeline.incorporator_hook import SyncIncorporatorHookClient\n"
    wrong += 'SyncIncorporatorHookClient("http://localhost").report_outcome("1", "s", succeeded="yes")\n'
    (folder / "wrong.py").write_text(wrong)
    check = [sys.executable, "-m", "mypy", *strict, "--python-executable", str(python), "wrong.py"]
    done = subprocess.run(check, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert 'has incompatible type "str"; expected "bool"' in done.stdout


def _query() -> dict[str, object]:
    return {
        "session_id": "s1",
        "problem_solving_step_ref": "step-1",
        "problem_type": "flaky upload",
        "current_task_context": {"operation": "upload report.pdf"},
    }
