"""A model of the books against the real service: flips, flags, reviews and repeated calls in any order."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any

import httpx
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.e2e.calls import answered, promoted, query
from tests.e2e.conftest import StartService
from tests.faults import machines
from tests.faults.audit import all_pages, recount
from tests.faults.conftest import MARIADB, POSTGRES, SQLITE, NewDatabases
from tests.faults.tally import LONG, Count, Tally

pytestmark = pytest.mark.faults

EXAMPLES, STEPS = (150, 25) if LONG else (15, 20)
THRESHOLD = 3
FLAGS = st.sampled_from(["success", "failure", "infrastructure"])


class BooksMachine(RuleBasedStateMachine):
    """Each example has a lesson of its own, which is the only one that matches."""

    client: httpx.Client
    steps_taken = 0
    flips = 0
    lesson_id: str | None = None

    @initialize()
    def start(self) -> None:
        cls = type(self)
        if cls.lesson_id is not None:
            answered(self.client.post(f"/lessons/{cls.lesson_id}/reject", json={}))
        cls.lesson_id = promoted(self.client)
        self.session = uuid.uuid4().hex
        self.round = 1
        self.entries: list[dict[str, Any]] = []
        self.due: Counter[tuple[str, int]] = Counter()
        self.replayable: list[tuple[str, str, dict[str, object], Any]] = []

    def post(self, path: str, body: dict[str, object]) -> Any:
        """The answer, which a repeated call will give again."""
        type(self).steps_taken += 1
        key = uuid.uuid4().hex
        answer = answered(self.client.post(path, json=body, headers={"Idempotency-Key": key}))
        self.replayable.append((path, key, body, answer))
        return answer

    @rule(step=st.integers(0, 2))
    def invoke(self, step: int) -> None:
        outcome = self.post("/incorporator/invoke", query(str(step), self.session))
        self.entries.append(
            {
                "outcome": outcome["id"],
                "step": str(step),
                "round": self.round,
                "result_flag": "pending",
                "failure_class": None,
                "usage_count": 1,
            }
        )

    @precondition(lambda self: self.entries)
    @rule(data=st.data(), flag=FLAGS, exactly=st.booleans())
    def report(self, data: st.DataObject, flag: str, exactly: bool) -> None:
        entry = data.draw(st.sampled_from(self.entries))
        if not exactly:
            entry = [one for one in self.entries if one["step"] == entry["step"]][-1]
        self._report(entry, flag, exactly)

    @precondition(lambda self: any(one["result_flag"] != "pending" for one in self.entries))
    @rule(data=st.data())
    def flip(self, data: st.DataObject) -> None:
        """An outcome that was reported changes its mind."""
        type(self).flips += 1
        entry = data.draw(st.sampled_from([one for one in self.entries if one["result_flag"] != "pending"]))
        self._report(entry, "failure" if entry["result_flag"] == "success" else "success", exactly=True)

    def _report(self, entry: dict[str, Any], flag: str, exactly: bool) -> None:
        failed = flag != "success"
        body: dict[str, object] = {
            "problem_solving_step_ref": entry["step"],
            "session_id": self.session,
            "result_flag": "failure" if failed else "success",
            "failure_class": "infrastructure" if flag == "infrastructure" else "lesson",
            **({"outcome_id": entry["outcome"]} if exactly else {}),
        }
        told = self.post("/incorporator/outcome", body)
        entry["usage_count"] += 1
        entry["result_flag"] = body["result_flag"]
        entry["failure_class"] = body["failure_class"] if failed else None
        count = sum(one["failure_class"] == "lesson" and one["round"] == entry["round"] for one in self.entries)
        assert told["transaction_log_ref"] == entry["outcome"]
        assert (told["usage_count"], told["failures_seen"]) == (entry["usage_count"], count)
        if flag == "failure" and count >= THRESHOLD:
            self.due[told["id"], told["usage_count"] - 1] += 1

    @rule()
    def edit(self) -> None:
        """A person edits the lesson: failures are counted anew."""
        answered(self.client.post(f"/lessons/{self.lesson_id}/edit", json={"tags": [uuid.uuid4().hex]}))
        self.round += 1

    @precondition(lambda self: self.replayable)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        path, key, body, answer = data.draw(st.sampled_from(self.replayable))
        again = answered(self.client.post(path, json=body, headers={"Idempotency-Key": key}))
        assert again == answer

    def teardown(self) -> None:
        if not hasattr(self, "entries") or self.lesson_id is None:
            return
        where = {"lesson_skill_id": self.lesson_id}
        entries = all_pages(self.client, "/feedback/", **where)
        kept = {
            one["transaction_log_ref"]: (
                one["problem_solving_step_ref"],
                one["review_round"],
                one["result_flag"],
                one["failure_class"],
                one["usage_count"],
            )
            for one in entries
        }
        names = ("step", "round", "result_flag", "failure_class", "usage_count")
        assert kept == {one["outcome"]: tuple(one[name] for name in names) for one in self.entries}
        usage = answered(self.client.get("/feedback/metrics/usage", params=where))
        if self.entries:
            assert usage["by_lesson"] == {self.lesson_id: recount(self.entries)}
        rows = all_pages(self.client, "/escalations", **where)
        assert Counter((one["feedback_entry_id"], one["report_number"]) for one in rows) == self.due


@pytest.mark.parametrize("engine", [SQLITE, POSTGRES, MARIADB])
def test_flips_reviews_and_repeated_calls_in_any_order_keep_counters_metrics_and_escalations_equal_to_a_model(
    engine: str, databases: NewDatabases, start_service: StartService, tally: Tally
) -> None:
    service = start_service({**databases(engine), "MG_FAILURE_THRESHOLD_X": str(THRESHOLD)})
    with service.client() as client:
        machine: type[BooksMachine] = type("Machine", (BooksMachine,), {"client": client})
        machines.run(machine, examples=EXAMPLES, steps=STEPS)
    assert machine.flips >= EXAMPLES // 3
    tally.add(
        Count(
            promise="2 Exactness",
            fault=f"any order of calls against a model, {engine}",
            trials=machine.steps_taken,
            faults=machine.flips,
        )
    )
