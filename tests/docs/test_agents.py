"""The agents in `examples/` work against a real service, and the one with a model against a stand-in of its API."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from tests.e2e.calls import answered, promoted
from tests.e2e.service import PROJECT, Service
from tests.fakes.anthropic_stand_in import AnthropicStandIn, Request, message

_RULE = {"problem_type": "flaky_upload", "target_bin": "skills_base", "query": "retry uploads"}
_MIRROR = {"action": "use_mirror", "instruction_template": "Send it to the mirror: {operation}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With one lesson, which says to use the mirror."""
    started = Service(tmp_path_factory.mktemp("agents"))
    started.write_rules([_RULE])
    started.start()
    with started.client() as client:
        promoted(client, dsl_payload=_MIRROR)
    yield started
    started.kill()


def output_of(example: str, service: Service, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROJECT / "examples" / example)],
        env={**os.environ, "PYTHONPATH": str(PROJECT), "MEMORYGRID_URL": service.url, **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def flags(service: Service, session: str) -> list[str]:
    with service.client() as client:
        return [entry["result_flag"] for entry in answered(client.get("/feedback", params={"session_id": session}))]


def test_a_plain_loop_follows_the_lesson_and_reports(service: Service) -> None:
    said = output_of("plain_loop.py", service)
    assert said == "use_mirror: Send it to the mirror: upload report.pdf\nuploaded report.pdf to the mirror\n"
    assert flags(service, "nightly") == ["success"]


def test_a_langgraph_graph_consults_follows_and_reports(service: Service) -> None:
    if find_spec("langgraph") is None:
        assert os.environ.get("CI") != "true", "CI installs requirements-docs.txt, which has langgraph"
        pytest.skip("langgraph is not installed: pip install -r requirements-docs.txt")
    said = output_of("langgraph_agent.py", service)
    assert said == "use_mirror: Send it to the mirror: upload report.pdf\nno lesson applies: as usual\n"
    assert flags(service, "graph-1") == ["success"]


def test_the_tool_use_loop_brings_the_lesson_to_the_model(service: Service) -> None:
    with AnthropicStandIn() as model:
        model.will(_uses("toolu_1", "primary"), _follows_the_lesson, message("It is on the mirror."))
        said = output_of(
            "anthropic_tool_loop.py", service, {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "a-key"}
        )
    assert said == "It is on the mirror.\n"
    assert len(model.requests) == 3
    assert flags(service, "tool-loop-1") == ["success"]


def _follows_the_lesson(request: Request) -> Any:
    """The stand-in's second answer: it reads the lesson in the failed tool's result, as a model would."""
    (result,) = request.body["messages"][-1]["content"]
    assert result["is_error"]
    assert "Send it to the mirror: upload report.pdf" in result["content"]
    return _uses("toolu_2", "mirror")


def _uses(tool_use_id: str, target: str) -> Any:
    use = {"type": "tool_use", "id": tool_use_id, "name": "upload", "input": {"file": "report.pdf", "target": target}}
    return message(stop_reason="tool_use", content=[use])
