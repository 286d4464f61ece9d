"""`memorygrid db check` and `memorygrid db upgrade` on each engine, as somebody who upgrades a cluster runs them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.sql.database import Database
from adapters.sql.schema import OBJECT_STORE
from tests.integration.sql.test_schema import set_revision

ROOT = Path(__file__).parents[3]
COMMAND = "from entrypoints.cli.main import main; main()"


@pytest.fixture
def env(dsn: str) -> dict[str, str]:
    """Of a program that has both databases in one place."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MG_")}
    return {**inherited, "PYTHONPATH": str(ROOT), "MG_TIDB_DSN": dsn, "MG_FEEDBACK_TIDB_DSN": dsn}


async def db(command: str, env: dict[str, str], home: Path) -> tuple[int, list[dict[str, Any]]]:
    """Its exit status and what it says of both databases."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", COMMAND, "db", command, "--json"), cwd=home, env=env, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    status = await process.wait()
    return status, msgspec.json.decode(said, type=list[dict[str, Any]]) if said else []


def states(found: list[dict[str, Any]]) -> list[str]:
    return [one["state"] for one in found]


async def test_an_empty_database_is_missing_until_two_upgrades_at_once_have_made_it(
    env: dict[str, str], tmp_path: Path
) -> None:
    status, found = await db("check", env, tmp_path)
    assert (status, states(found)) == (1, ["missing", "missing"])
    upgrades = await asyncio.gather(*(db("upgrade", env, tmp_path) for _ in range(2)))
    assert [(status, states(found)) for status, found in upgrades] == [(0, ["up_to_date", "up_to_date"])] * 2
    status, found = await db("check", env, tmp_path)
    assert (status, states(found)) == (0, ["up_to_date", "up_to_date"])


async def test_a_database_of_a_newer_program_is_told_and_left_alone(
    env: dict[str, str], dsn: str, tmp_path: Path
) -> None:
    assert (await db("upgrade", env, tmp_path))[0] == 0
    database = Database(dsn, OBJECT_STORE)
    await set_revision(database, OBJECT_STORE, "lessons_9999")
    await database.aclose()
    assert (await db("upgrade", env, tmp_path))[0] == 2
    status, found = await db("check", env, tmp_path)
    assert (status, states(found)) == (1, ["newer", "up_to_date"])
