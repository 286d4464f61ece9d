"""The transition table: which decision and which escalation moves a lesson where."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any

import msgspec
import pytest

from domain.errors import DecisionNotAllowed, StaleVersion
from domain.learner.lesson import (
    Bin,
    Decision,
    Effect,
    Lesson,
    LessonEdit,
    Status,
    decide,
    disable_by_escalation,
    flag,
    promoted_copy,
)
from domain.learner.log import DECIDED, Event, Flag
from tests.fakes.clock import START
from tests.fakes.examples import lesson, promoted

LATER = START + timedelta(hours=1)
APPROVE, EDIT, REJECT, DISABLE = Decision
PENDING, PROMOTED, REJECTED, DISABLED = Status
CONFLICT = None
TABLE: dict[Status, dict[Decision, Status | None]] = {
    PENDING: {APPROVE: PROMOTED, EDIT: PROMOTED, REJECT: REJECTED, DISABLE: DISABLED},
    PROMOTED: {APPROVE: CONFLICT, EDIT: PROMOTED, REJECT: REJECTED, DISABLE: DISABLED},
    REJECTED: {APPROVE: CONFLICT, EDIT: PROMOTED, REJECT: CONFLICT, DISABLE: CONFLICT},
    DISABLED: {APPROVE: PROMOTED, EDIT: PROMOTED, REJECT: REJECTED, DISABLE: CONFLICT},
}
CELLS = [(before, decision, TABLE[before][decision]) for before, decision in product(Status, Decision)]


def at(status: Status, **other: Any) -> Lesson:
    """A lesson in its second review round."""
    return lesson(**{"status": status, "version": 5, "review_round": 2, **other})


def flagged(one: Lesson, review_round: int = 2) -> Effect | None:
    return flag(one, review_round=review_round, at=LATER)


def disabled(one: Lesson, review_round: int = 2) -> Effect | None:
    return disable_by_escalation(one, review_round=review_round, at=LATER)


@pytest.mark.parametrize(("before", "decision", "after"), CELLS)
def test_a_decision_moves_a_lesson_as_the_table_says(before: Status, decision: Decision, after: Status | None) -> None:
    if after is None:
        with pytest.raises(DecisionNotAllowed, match=before.value):
            decide(at(before), decision, at=LATER)
    else:
        assert decide(at(before), decision, at=LATER).status is after


@pytest.mark.parametrize(("before", "decision", "after"), CELLS)
def test_a_decision_moves_the_version_and_a_promotion_the_review_round(
    before: Status, decision: Decision, after: Status | None
) -> None:
    if after is None:
        return
    moved = decide(at(before, disabled_by_escalation=True), decision, at=LATER)
    promotes = decision in (APPROVE, EDIT)
    assert moved == at(after, version=6, review_round=3 if promotes else 2, updated_at=LATER)


@pytest.mark.parametrize("decision", Decision)
@pytest.mark.parametrize("version", [4, 6, 0, -1])
def test_a_decision_on_another_version_is_stale(decision: Decision, version: int) -> None:
    with pytest.raises(StaleVersion, match="version 5"):
        decide(at(PENDING), decision, at=LATER, version=version)


def test_a_decision_on_the_current_version_is_carried_out() -> None:
    assert decide(at(PENDING), APPROVE, at=LATER, version=5).status is PROMOTED


def test_a_stale_version_is_told_before_a_decision_that_is_not_allowed() -> None:
    with pytest.raises(StaleVersion):
        decide(at(REJECTED), REJECT, at=LATER, version=4)


def test_an_edit_changes_what_it_names_and_leaves_the_rest() -> None:
    before = at(PENDING, dsl_payload={"action": "retry"}, tags=("a", "b"))
    after = decide(before, EDIT, at=LATER, edit=LessonEdit(title="Another"))
    assert after == msgspec.structs.replace(
        before, title="Another", status=PROMOTED, version=6, review_round=3, updated_at=LATER
    )
    whole = LessonEdit(title="t", body="b", tags=(), dsl_payload={"action": "wait"})
    edited = decide(before, EDIT, at=LATER, edit=whole)
    assert (edited.title, edited.body, edited.tags, edited.dsl_payload) == ("t", "b", (), {"action": "wait"})


def test_an_edit_may_remove_the_payload() -> None:
    before = at(PROMOTED, dsl_payload={"action": "retry"})
    assert decide(before, EDIT, at=LATER, edit=LessonEdit(dsl_payload=None)).dsl_payload is None
    assert decide(before, EDIT, at=LATER, edit=LessonEdit()).dsl_payload == {"action": "retry"}


def test_a_flag_sends_a_promoted_lesson_back_to_review_and_its_copy_goes_on_matching() -> None:
    assert flagged(at(PROMOTED)) == Effect(lesson=at(PENDING, updated_at=LATER), deletes_copy=False)


def test_a_flag_on_a_lesson_that_awaits_review_is_noted_and_no_more() -> None:
    assert flagged(at(PENDING)) == Effect(lesson=at(PENDING), deletes_copy=False)


@pytest.mark.parametrize("one", [at(REJECTED), at(DISABLED)], ids=["rejected", "disabled by a person"])
def test_a_flag_on_what_a_person_put_away_is_superseded(one: Lesson) -> None:
    assert flagged(one) is None


def test_a_flag_on_what_an_escalation_disabled_sends_it_to_review() -> None:
    one = at(DISABLED, disabled_by_escalation=True)
    assert flagged(one) == Effect(lesson=at(PENDING, updated_at=LATER), deletes_copy=False)


def test_the_auto_path_disables_a_promoted_lesson_and_deletes_its_copy() -> None:
    after = at(DISABLED, disabled_by_escalation=True, updated_at=LATER)
    assert disabled(at(PROMOTED)) == Effect(lesson=after, deletes_copy=True)


def test_the_auto_path_deletes_the_copy_of_a_lesson_that_awaits_review_and_leaves_it_there() -> None:
    assert disabled(at(PENDING)) == Effect(lesson=at(PENDING), deletes_copy=True)


@pytest.mark.parametrize("one", [at(REJECTED), at(DISABLED), at(DISABLED, disabled_by_escalation=True)])
def test_the_auto_path_on_what_is_put_away_already_is_superseded(one: Lesson) -> None:
    assert disabled(one) is None


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("review_round", [0, 1, 3])
def test_an_escalation_of_another_review_round_is_superseded(status: Status, review_round: int) -> None:
    one = at(status, disabled_by_escalation=True)
    assert flagged(one, review_round) is None
    assert disabled(one, review_round) is None


def test_flag_and_disable_commute() -> None:
    first = flagged(at(PROMOTED))
    assert first is not None
    then_disabled = disabled(first.lesson)
    other = disabled(at(PROMOTED))
    assert other is not None
    then_flagged = flagged(other.lesson)
    assert then_disabled is not None
    assert then_flagged is not None
    assert then_disabled.lesson == then_flagged.lesson == at(PENDING, updated_at=LATER)
    assert (first.deletes_copy, then_disabled.deletes_copy) == (False, True)
    assert (other.deletes_copy, then_flagged.deletes_copy) == (True, False)


@pytest.mark.parametrize("rule", [flag, disable_by_escalation])
def test_escalations_move_neither_version_nor_review_round(rule: Any) -> None:
    effect = rule(at(PROMOTED), review_round=2, at=LATER)
    assert (effect.lesson.version, effect.lesson.review_round) == (5, 2)


def test_what_a_person_disables_after_an_escalation_is_a_persons_decision() -> None:
    one = at(PENDING, disabled_by_escalation=True)
    assert flagged(decide(one, DISABLE, at=LATER)) is None


def test_a_promoted_copy_is_the_lesson_as_it_was_reviewed() -> None:
    one = promoted(bin=Bin.KNOWLEDGE, dsl_payload={"action": "wait"}, tags=("a",))
    copy = promoted_copy(one, at=LATER)
    shared = ("id", "bin", "title", "body", "tags", "dsl_payload", "version", "review_round")
    assert {name: getattr(copy, name) for name in shared} == {name: getattr(one, name) for name in shared}
    assert copy.promoted_at == LATER


def test_every_decision_has_its_event_in_the_log() -> None:
    assert [DECIDED[decision] for decision in Decision] == [
        Event.APPROVED,
        Event.EDITED,
        Event.REJECTED,
        Event.DISABLED,
    ]
    assert Event.RUNTIME_FAILURE_FLAGGED.value == "runtime_failure_flagged"


def test_a_flag_is_kept_in_the_logs_detail_and_read_back_from_there() -> None:
    why = Flag(reason="r", feedback_entry_id="e", failure_count=3, feedback={"failure": 3})
    assert msgspec.convert(why.as_detail(), Flag) == why
