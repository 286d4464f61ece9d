"""schemathesis over the real service: no input is a fault of it, and every answer is one that its description names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx

from tests.e2e.calls import UPLOAD_LESSON, answered, failed, invoke, promoted
from tests.e2e.conftest import StartService
from tests.e2e.service import PROJECT

_CONFIG = """
seed = 1
hooks = "tests.e2e.openapi_hooks"
continue-on-failure = true
warnings = false

[generation]
max-examples = {examples}
deterministic = true
allow-x00 = false
database = "none"
no-shrink = true

[phases.coverage]
unexpected-methods = ["PUT", "TRACE"]

[phases.stateful]
max-steps = 3
generation = {{ max-examples = {examples} }}

[checks]
# A key that the run has used before comes with another body.
positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 404, 409, 422]

[dictionaries]
lessons.values = {lessons}
entries.values = {entries}
escalations.values = {escalations}

[parameters]
"path.lesson_id" = {{ dictionary = "lessons", probability = 0.7 }}
"path.entry_id" = {{ dictionary = "entries", probability = 0.7 }}
"path.escalation_id" = {{ dictionary = "escalations", probability = 0.7 }}

[[operations]]
# A cursor is one that a page before gave out, which no schema can say.
include-path = ["/feedback", "/lessons", "/escalations"]
include-method = "GET"
checks.positive_data_acceptance.enabled = false
"""


def seeded(client: httpx.Client) -> dict[str, list[str]]:
    """Something of everything; the ids."""
    promoted(client)
    for title in ("one", "two", "three"):
        answered(client.post("/lessons", json={**UPLOAD_LESSON, "title": title}), 201)
    failed(client, 2)
    invoke(client)
    return {
        name: [str(one["id"]) for one in answered(client.get(path))]
        for name, path in (("lessons", "/lessons"), ("entries", "/feedback"), ("escalations", "/escalations"))
    }


def test_no_input_is_a_fault_and_every_answer_is_as_described(start_service: StartService, tmp_path: Path) -> None:
    service = start_service({"MG_FAILURE_THRESHOLD_X": "1"})
    with service.client() as client:
        ids = seeded(client)
        config = tmp_path / "schemathesis.toml"
        config.write_text(_CONFIG.format(examples=3, **ids))
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"]
        run = subprocess.run(
            [*command, f"{service.url}/schema/openapi.json", "--no-color", "--exclude-tag", "schema"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-2_000:]
        assert client.get("/health/ready").json()["status"] in ("ok", "degraded")
    assert "fault" not in service.log()
    assert "Traceback" not in service.log()
