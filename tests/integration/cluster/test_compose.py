"""The cluster of `deploy/compose.yaml`, with its settings and its script, in processes in place of containers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import yaml
from sqlalchemy.engine import make_url

from tests.e2e.calls import answered, promoted, query
from tests.e2e.conftest import StartService
from tests.e2e.service import INCORPORATOR, PROJECT, until
from tests.servers.fixtures import require
from tests.servers.postgres import PostgresServer

DEPLOY = PROJECT / "deploy"
KEYS = "agents@pipeline:an-agents-key,ann@reviewer:anns-key"


def environment(service: Mapping[str, Any], dsn: str) -> dict[str, str]:
    """What a container would be given, but for where the server is and what it calls its user."""
    url = make_url(dsn)
    user = f"{url.username}:{url.password}@{url.host}:{url.port}/"
    given = {"MG_API_KEYS": KEYS}

    def filled(text: str) -> str:
        text = re.sub(r"memorygrid:\$\{POSTGRES_PASSWORD:[^}]*\}@postgres/", user, text)
        return re.sub(r"\$\{(\w+):[^}]*\}", lambda found: given.get(found[1], ""), text)

    return {name: filled(value) for name, value in service["environment"].items() if name not in ("APP", "PORT")}


def _given(agent: httpx.Client) -> str | None:
    """The lesson that an agent is given; None until the service has noticed its promotion by another one."""
    answer = agent.post("/incorporator/invoke", json=query())
    if answer.status_code == 404:
        return None
    return str(answered(answer)["match_result"]["matched_entity_id"])


def test_its_services_start_with_its_settings_share_what_they_know_and_ask_for_keys(
    start_service: StartService, tmp_path: Path
) -> None:
    require(PostgresServer)
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    learner, incorporator = compose["services"]["learner"], compose["services"]["incorporator"]
    assert incorporator["deploy"]["replicas"] == 2
    with PostgresServer() as server:
        dsn = server.create_database(compose["services"]["postgres"]["environment"]["POSTGRES_DB"])
        server.run_script((DEPLOY / "postgres-init.sql").read_text(encoding="utf-8"), "lessons")
        services = []
        for name, one in (("learner", learner), ("one", incorporator), ("two", incorporator)):
            (tmp_path / name).mkdir()
            app = one["environment"].get("APP", INCORPORATOR)
            services.append(start_service(environment(one, dsn), app, home=tmp_path / name))
        with services[0].client(Authorization="Bearer anns-key") as ann:
            lesson_id = promoted(ann)
            assert answered(ann.get("/health/ready"))["status"] == "ok"
        for service in services[1:]:
            with service.client(Authorization="Bearer an-agents-key") as agent:
                assert until(lambda agent=agent: _given(agent)) == lesson_id  # type: ignore[misc]
                assert agent.get("/lessons").status_code == 404
            with service.client() as stranger:
                assert stranger.post("/incorporator/invoke", json=query()).status_code == 401
