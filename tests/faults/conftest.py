"""The databases that the tests run on, and where they count."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import StartService, start_service
from tests.faults.tally import Tally

__all__ = ["StartService", "start_service"]

#: The settings of a service on two new, empty databases of an engine.
NewDatabases = Callable[[str], dict[str, str]]

SQLITE = pytest.param("sqlite")
POSTGRES = pytest.param("postgres", marks=pytest.mark.engine("postgres"))
MARIADB = pytest.param("mariadb", marks=pytest.mark.engine("mariadb"))


@pytest.fixture(scope="session")
def tally() -> Tally:
    path = os.environ.get("FAULTS_RESULTS")
    return Tally(Path(path) if path else None)


@pytest.fixture
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> NewDatabases:
    """Of `sqlite`, `postgres` or `mariadb`; services that get the same settings share them."""

    def new(engine: str) -> dict[str, str]:
        name = uuid.uuid4().hex[:12]
        if engine == "sqlite":
            lessons, feedback = (f"sqlite+aiosqlite:///{tmp_path}/{kind}_{name}.db" for kind in ("lessons", "feedback"))
        else:
            server = request.getfixturevalue(f"{engine}_server")
            lessons, feedback = (server.create_database(f"{kind}_{name}") for kind in ("lessons", "feedback"))
        return {"MG_TIDB_DSN": lessons, "MG_FEEDBACK_TIDB_DSN": feedback, "MG_LOG_LEVEL": "WARNING"}

    return new
