"""When a failing lesson escalates, along which paths, and what is delivered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.feedback.entry import FailureClass, ResultFlag
from domain.feedback.escalation import (
    Escalation,
    Path,
    PathMode,
    State,
    backoff_s,
    due_escalations,
    flagged_lesson_body,
    remediation_event_body,
)
from domain.feedback.metrics import Counters
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import ENTRY_ID, LESSON_ID, entry, escalation, failed_entry, policy

LATER = START + timedelta(hours=1)


@pytest.mark.parametrize(
    ("mode", "paths"),
    [
        (PathMode.HUMAN_ONLY, (Path.HUMAN,)),
        (PathMode.AUTO_ONLY, (Path.AUTO,)),
        (PathMode.BOTH, (Path.HUMAN, Path.AUTO)),
    ],
)
def test_at_the_threshold_the_modes_paths_are_due(mode: PathMode, paths: tuple[Path, ...]) -> None:
    assert tuple(policy(3, mode).due(failed_entry(3))) == paths


@pytest.mark.parametrize(("seen", "is_due"), [(0, False), (1, False), (2, False), (3, True), (4, True), (1000, True)])
def test_escalation_starts_at_the_threshold_and_goes_on_with_every_further_failure(seen: int, is_due: bool) -> None:
    assert bool(policy(3).due(failed_entry(seen))) is is_due


def test_a_threshold_of_one_escalates_the_first_failure() -> None:
    assert policy(1).due(failed_entry(1))


@pytest.mark.parametrize(
    "other",
    [
        {"result_flag": ResultFlag.SUCCESS, "failure_class": None},
        {"result_flag": ResultFlag.PENDING, "failure_class": None},
        {"failure_class": FailureClass.INFRASTRUCTURE},
        {"failures_seen": None},
    ],
)
def test_only_a_counted_failure_of_the_lesson_escalates(other: dict[str, Any]) -> None:
    assert not policy(1).due(failed_entry(**{"failures_seen": 99, **other}))


def test_a_fresh_selection_escalates_nothing() -> None:
    assert not policy(0).due(entry())


def test_what_is_due_says_what_happened_to_which_lesson() -> None:
    counters = Counters(usage_count=9, failure=4, lesson_failures=4)
    failed = failed_entry(4, usage_count=6, review_round=2)
    human, auto = due_escalations(failed, counters, policy(3), at=LATER, new_id=CountingIds())
    assert human == Escalation(
        id=CountingIds()(),
        entry_id=ENTRY_ID,
        report_number=5,
        path=Path.HUMAN,
        target="learner",
        lesson_skill_id=LESSON_ID,
        review_round=2,
        failure_count=4,
        counters=counters,
        state=State.PENDING,
        attempts=0,
        last_error=None,
        created_at=LATER,
        next_attempt_at=LATER,
    )
    assert (auto.path, auto.target) == (Path.AUTO, "workflow")
    assert auto.id != human.id


def test_nothing_due_is_an_empty_list() -> None:
    assert due_escalations(entry(), Counters(), policy(), at=LATER, new_id=CountingIds()) == []


def test_the_bodies_are_the_documented_ones() -> None:
    one = escalation(failure_count=4, review_round=2)
    assert flagged_lesson_body(one) == {
        "lesson_skill_id": LESSON_ID,
        "feedback_entry_id": ENTRY_ID,
        "reason": "4 failed outcomes in review round 2",
    }
    assert remediation_event_body(one) == {
        "event_type": "lesson_remediation",
        "payload": {"lesson_skill_id": LESSON_ID, "failure_count": 4},
    }


def test_the_wait_starts_at_about_a_second_and_doubles() -> None:
    assert [backoff_s(attempts, 0.5) for attempts in range(1, 8)] == [1, 2, 4, 8, 16, 32, 64]


@given(st.integers(1, 10**6), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_never_shorter_than_three_quarters_of_a_second_nor_longer_than_five_minutes(
    attempts: int, jitter: float
) -> None:
    assert 0.75 <= backoff_s(attempts, jitter) <= 300.0


@pytest.mark.parametrize("attempts", [1, 5, 9, 20, 5000])
def test_jitter_spreads_the_attempts_at_every_stage(attempts: int) -> None:
    least, most = backoff_s(attempts, 0.0), backoff_s(attempts, 0.999)
    assert most / least > 1.5
