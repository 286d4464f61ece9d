"""`memorygrid feedback` and `escalations`, after a pipeline has used lessons."""

from __future__ import annotations

import anyio
import pytest

from domain.feedback.entry import ResultFlag
from domain.incorporator.query import QueryInput
from entrypoints.library import build_dependencies
from entrypoints.settings import Settings
from tests.unit.cli.conftest import Cli, id_of

FLAGS = [ResultFlag.SUCCESS, ResultFlag.FAILURE, ResultFlag.FAILURE, ResultFlag.FAILURE, ResultFlag.PENDING]
UNKNOWN = "01a22cf4-3f65-7352-8e17-72bdba45f5da"


@pytest.fixture
def used(stocked: Cli) -> Cli:
    """One lesson has succeeded once, failed three times, which escalates, and is being tried again."""
    anyio.run(_use, Settings())
    return stocked


async def _use(settings: Settings) -> None:
    async with build_dependencies(settings) as deps:
        for number, flag in enumerate(FLAGS):
            query = QueryInput(
                session_id="s1",
                problem_solving_step_ref=f"step-{number}",
                problem_type="flaky_upload",
                current_task_context={"text": "retry uploads with backoff"},
            )
            match = await deps.matching_engine.match(query)
            assert match is not None
            outcome = await deps.applier_service.apply(match, query)
            await deps.feedback_recorder.record_selection(query, match, outcome)
            if flag is not ResultFlag.PENDING:
                entry = await deps.feedback_updater.update(f"step-{number}", "s1", flag)
                await deps.threshold_monitor.check_and_escalate(entry)


def test_entries_are_listed_newest_first_and_take_filters(used: Cli) -> None:
    assert [one["problem_solving_step_ref"] for one in used.json("feedback", "list")] == [
        "step-4", "step-3", "step-2", "step-1", "step-0",
    ]  # fmt: skip
    assert len(used.json("feedback", "list", "--result", "failure")) == 3
    assert len(used.json("feedback", "list", "--session", "s1", "--limit", "2")) == 2
    assert used.json("feedback", "list", "--lesson", UNKNOWN) == []
    table = used("feedback", "list").stdout
    assert "flaky_upload" in table
    assert "step-0" in table


def test_the_numbers_are_shown_per_lesson_and_all_together(used: Cli) -> None:
    shown = " ".join(used("feedback", "stats").stdout.split())
    assert "Retry uploads with backoff 9 1 3 1 25.0%" in shown
    assert "all 1 lessons 9 1 3 1 25.0%" in shown
    lesson_id = id_of(used, "Retry uploads with backoff")
    numbers = used.json("feedback", "stats", lesson_id)
    assert numbers["by_lesson"][lesson_id]["success_rate"] == 0.25
    assert used.json("feedback", "stats", UNKNOWN)["by_lesson"] == {}


def test_the_numbers_of_an_erased_lesson_stay_without_its_title(used: Cli) -> None:
    used("lessons", "erase", id_of(used, "Retry uploads with backoff"), "--yes")
    assert "?" in used("feedback", "stats").stdout


def test_a_flagged_lesson_waits_with_its_reason_and_its_outcomes(used: Cli) -> None:
    (item,) = used.json("review", "list")
    assert item["reason"] == "3 failed outcomes in review round 1"
    assert (item["feedback"]["success"], item["feedback"]["failure"]) == (1, 3)
    assert "1 success, 3 failure, 0 pending" in used("review", "list").stdout
    assert "3 failed outcomes" in used("review", "show", item["id"]).stdout


def test_escalations_are_listed(used: Cli) -> None:
    (one,) = used.json("escalations", "list", "--state", "delivered")
    assert (one["path"], one["failure_count"]) == ("human", 3)
    assert "human to " in used("escalations", "list").stdout
    assert used.json("escalations", "list", "--state", "failed") == []


def test_a_delivered_escalation_cannot_be_retried(used: Cli) -> None:
    (one,) = used.json("escalations", "list")
    assert "delivered" in used("escalations", "retry", one["id"], code=1).stderr
    used("escalations", "retry", UNKNOWN, code=1)
    assert "none has failed" in used("escalations", "retry", "--failed").stderr
    used("escalations", "retry", code=2)


def test_failed_escalations_become_due_again(stocked: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MG_HIL_MODE", "http")
    monkeypatch.setenv("MG_HIL_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("MG_ESCALATION_MAX_ATTEMPTS", "1")
    anyio.run(_use, Settings())
    assert len(stocked.json("escalations", "list", "--state", "failed")) == 1
    assert any("1 have failed for good" in str(one["found"]) for one in stocked.json("doctor"))
    assert "pending" in stocked("escalations", "retry", "--failed").stdout
    assert len(stocked.json("escalations", "list", "--state", "pending")) == 1
