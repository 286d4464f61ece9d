"""What the page says about databases on a server leaves nothing behind on a real one."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from tests.docs.blocks import PROJECT, Block, blocks_of
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.engine("postgres")
COMMAND = "from entrypoints.cli.main import main; main()"
BLOCKS = [one for one in blocks_of(PROJECT / "docs" / "how-to" / "start-over.md") if "not run" in one.said]


def block(language: str) -> Block:
    (found,) = (one for one in BLOCKS if one.language == language)
    return found


async def rows_of_index(dsn: str) -> int:
    connection = await asyncpg.connect(dsn.replace("+asyncpg", ""))
    try:
        names = await connection.fetch("SELECT tablename FROM pg_tables WHERE tablename LIKE 'memorygrid_vectors_%'")
        counts = [await connection.fetchval(f'SELECT count(*) FROM "{one[0]}"') for one in names]  # noqa: S608
        return sum(counts)
    finally:
        await connection.close()


def test_the_statements_and_commands_for_a_server_leave_no_lesson_and_no_vector(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    names = {name: f"{name}_{secrets.token_hex(6)}" for name in ("lessons", "feedback", "vectors")}
    dsns = {name: postgres_server.create_database(database) for name, database in names.items()}
    env = {name: value for name, value in os.environ.items() if not name.startswith("MG_")} | {
        "PYTHONPATH": str(PROJECT),
        "MG_TIDB_DSN": dsns["lessons"],
        "MG_FEEDBACK_TIDB_DSN": dsns["feedback"],
        "MG_VECTOR_BACKEND": "pgvector",
        "MG_VECTOR_DSN": dsns["vectors"],
    }

    def memorygrid(*arguments: str) -> str:
        command = [sys.executable, "-c", COMMAND, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lessons() -> list[Any]:
        return msgspec.json.decode(memorygrid("lessons", "list", "--json"), type=list[Any])

    memorygrid("db", "upgrade")
    memorygrid("lessons", "add", "--title", "Retry uploads", "--body", "Retry with exponential backoff.")
    memorygrid("review", "approve", "--all", "--yes")
    assert len(lessons()) == 1
    assert asyncio.run(rows_of_index(dsns["vectors"])) > 0
    statements = block("sql").text
    for name, database in names.items():
        statements = statements.replace(f"DATABASE {name};", f'DATABASE "{database}";')
    postgres_server.run_script(statements, "postgres")
    for line in block("bash").text.splitlines():
        memorygrid(*line.split()[1:])
    assert lessons() == []
    assert asyncio.run(rows_of_index(dsns["vectors"])) == 0
