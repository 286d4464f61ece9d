"""The clock of the machine jumps while the service runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.calls import answered, failed, invoke, promoted, query, report
from tests.e2e.conftest import StartService
from tests.e2e.http_target import RecordingTarget, delivering_to
from tests.e2e.service import until
from tests.faults.audit import Books
from tests.faults.tally import Count, Tally

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("jump", [3600.0, -3600.0], ids=["an hour on", "an hour back"])
def test_a_clock_that_jumps_an_hour_changes_no_count_and_holds_up_no_delivery(
    jump: float, start_service: StartService, tmp_path: Path, tally: Tally
) -> None:
    offset = tmp_path / "clock"
    with RecordingTarget(lambda _delivery, number: 503 if number < 3 else 200) as review:
        service = start_service(
            {**delivering_to(review=review.url), "MG_TEST_CLOCK": str(offset)},
            app="tests.faults.moving_clock:app",
        )
        with service.client() as client:
            promoted(client)
            first = invoke(client, "again")
            keyed: dict[str, Any] = {"json": query("keyed"), "headers": {"Idempotency-Key": "a-key"}}
            answer = answered(client.post("/incorporator/invoke", **keyed))
            failed(client, 1)
            until(lambda: answered(client.get("/escalations"))[0]["attempts"] == 1)
            offset.write_text(str(jump))
            second = invoke(client, "again")
            entry = report(client, "again", "success")
            replay = answered(client.post("/incorporator/invoke", **keyed))
            late = 0
            try:
                until(lambda: answered(client.get("/escalations"))[0]["state"] == "delivered", 25)
            except AssertionError:
                late = 1
            books = Books(client)
            wrong = [*books.wrong(), *([] if replay == answer else [replay])]
    if entry["transaction_log_ref"] != second["id"] or first["id"] == second["id"]:
        wrong.append("the latest is not the last")
    tally.add(
        Count(
            promise="6 Recovery",
            fault=f"the clock jumps an hour {'on' if jump > 0 else 'back'}",
            trials=5,
            faults=1,
            lost=0,
            duplicated=len({one.headers["idempotency-key"] for one in review.deliveries}) - 1,
            wrong=len(wrong) + late,
        ),
        wrong,
    )
