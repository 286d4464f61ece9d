"""A database file that is replaced beneath the running service is told, by every answer that would need it."""

from __future__ import annotations

import shutil

import pytest

from tests.e2e.calls import UPLOAD_LESSON, answered, invoke, promoted, query
from tests.e2e.conftest import StartService


@pytest.mark.parametrize(
    ("name", "check"),
    [("memorygrid_feedback.db", "feedback_database"), ("memorygrid_lessons.db", "object_store")],
)
def test_a_replaced_database_is_answered_503_with_what_to_do_and_used_after_a_restart(
    start_service: StartService, name: str, check: str
) -> None:
    service = start_service()
    file = service.home / name
    with service.client() as client:
        promoted(client)
        invoke(client)
        service.stop()
        shutil.copy(file, service.home / "backup.db")
        service.start()
        assert client.get("/health/ready").status_code == 200
        invoke(client)
        (service.home / "backup.db").replace(file)
        for answer in (
            client.post("/incorporator/invoke", json=query("step-18")),
            client.get("/lessons") if check == "object_store" else client.get("/feedback"),
            client.post("/lessons", json=UPLOAD_LESSON) if check == "object_store" else client.get("/escalations"),
        ):
            problem = answered(answer, 503)
            assert f"{name} was replaced by another file" in problem["detail"]
            assert "start again" in problem["detail"]
        ready = answered(client.get("/health/ready"), 503)
        assert f"{name} was replaced" in str(ready)
        service.stop()
        for left in (f"{name}-wal", f"{name}-shm"):
            (service.home / left).unlink(missing_ok=True)
        service.start()
        assert client.get("/health/ready").status_code == 200
        invoke(client, "step-19")
