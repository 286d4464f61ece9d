"""A service that can read and not write says that it is not ready."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.e2e.calls import answered, invoke, promoted
from tests.e2e.conftest import StartService


@pytest.mark.parametrize(
    ("file", "table", "check"),
    [
        ("memorygrid_feedback.db", "feedback_entries", "feedback database"),
        ("memorygrid_lessons.db", "lesson_log", "object store"),
    ],
)
def test_a_database_that_has_lost_a_table_is_told_before_anybody_writes(
    start_service: StartService, file: str, table: str, check: str
) -> None:
    service = start_service()
    with service.client() as client, closing(sqlite3.connect(service.home / file)) as other:
        promoted(client)
        invoke(client)
        assert client.get("/health/ready").status_code == 200
        other.execute(f"DROP TABLE {table}")
        ready = answered(client.get("/health/ready"), 503)
        assert f"the {check} cannot be used (its tables are gone" in ready["detail"]
