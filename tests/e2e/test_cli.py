"""The command line against a served service, with keys: a newcomer's path, and what each key may do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import msgspec
import pytest
from typer.testing import CliRunner, Result

from entrypoints.cli.main import app
from tests.e2e.service import PROJECT, Service

KEYS = "ann@admin:ann-key,agent@pipeline:agent-key,bob@reader:bob-key"

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("service"), {"MG_API_KEYS": KEYS})
    service.write_rules([{"problem_type": "KubeJobFailed", "target_bin": "skills_base", "query": "Kube Job Failed"}])
    yield service.start()
    service.kill()


@pytest.fixture
def memorygrid(served: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs one command; its key is the administrator's unless it says otherwise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)

    def run(*arguments: str, key: str = "ann-key", code: int = 0, **env: str) -> Result:
        variables = {"MG_URL": served.url, "MG_API_KEY": key, **env}
        result = CliRunner().invoke(app, list(arguments), env=variables, prog_name="memorygrid")
        assert result.exit_code == code, result.output
        return result

    return run


def test_a_newcomers_path_from_import_to_repair(memorygrid: Run, served: Service, tmp_path: Path) -> None:
    samples = str(PROJECT / "config" / "samples" / "runbooks.jsonl")
    assert "21 imported" in memorygrid("lessons", "import", samples).stdout
    assert "21 known already" in memorygrid("lessons", "import", samples).stdout
    assert len(memorygrid("review", "approve", "--all", "--yes").stdout.splitlines()) == 21
    assert memorygrid("match", "KubeJobFailed", key="agent-key").stdout.startswith("Kube Job Failed\n")
    with served.client(Authorization="Bearer agent-key") as agent:
        for number in range(3):
            _fail(agent, f"step-{number}")
    (flagged,) = msgspec.json.decode(memorygrid("review", "list", "--json").stdout)
    assert flagged["reason"] == "3 failed outcomes in review round 1"
    edit = "from pathlib import Path; p = Path(__import__('sys').argv[1]); p.write_text(p.read_text() + '\\nMore.')"
    editor = f'{sys.executable} -c "{edit}"'
    repaired = memorygrid("review", "edit", flagged["id"], "--yes", "--note", "clearer", EDITOR=editor)
    assert "+More." in repaired.stdout
    assert memorygrid("review", "list").stderr == "none\n"
    log = msgspec.json.decode(memorygrid("lessons", "show", flagged["id"], "--log", "--json").stdout)["log"]
    assert [(one["event"], one["actor"]) for one in log][-1] == ("edited", "ann")
    memorygrid("lessons", "export", "out", "--format", "jsonl")
    assert len((tmp_path / "out" / "lessons.jsonl").read_text().splitlines()) == 21
    assert "serves" in memorygrid("doctor").stdout
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_a_key_that_may_not_or_is_unknown_ends_with_4(memorygrid: Run) -> None:
    assert "this key is not known" in memorygrid("lessons", "list", key="wrong", code=4).stderr
    refused = memorygrid("lessons", "list", key="", code=4).stderr
    assert "send a key" in refused
    assert "give one by --api-key or MG_API_KEY" in refused
    assert (
        "may not do this" in memorygrid("lessons", "add", "--title", "a", "--body", "b", key="bob-key", code=4).stderr
    )
    memorygrid("lessons", "list", key="bob-key")
    assert "the details need a key" in memorygrid("doctor", key="").stdout
    assert "a key of the role pipeline" in memorygrid("doctor", key="agent-key").stdout


def test_the_address_may_be_given_behind_the_command_and_wins_over_the_variable(
    memorygrid: Run, served: Service
) -> None:
    memorygrid("misses", "--url", served.url, "--api-key", "bob-key", MG_URL="http://127.0.0.1:9", key="wrong")
    memorygrid("misses", MG_URL="http://127.0.0.1:9", code=3)


def test_what_is_no_memorygrid_is_told_apart(memorygrid: Run, served: Service) -> None:
    assert "no MemoryGrid API" in memorygrid("lessons", "list", MG_URL=f"{served.url}/elsewhere", code=2).stderr


def _fail(agent: httpx.Client, step: str) -> None:
    body = {"session_id": "s1", "problem_solving_step_ref": step}
    context = {"namespace": "payments", "job": "nightly"}
    invoke = {**body, "problem_type": "KubeJobFailed", "current_task_context": context}
    agent.post("/incorporator/invoke", json=invoke).raise_for_status()
    agent.post("/incorporator/outcome", json={**body, "result_flag": "failure"}).raise_for_status()
