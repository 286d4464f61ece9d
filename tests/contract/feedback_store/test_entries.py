"""Entries and reports."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from application.feedback.ports import FeedbackStore
from domain.errors import NoSelection, UnknownEntry
from domain.feedback.entry import FailureClass, ResultFlag
from domain.feedback.metrics import counted
from tests.contract.feedback_store.stories import ALIKE, FULL, entries, everything, recorded
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import ODD, entry, every_field_given, outcome_of, policy, select
from tests.fakes.together import all_of


async def test_an_entry_comes_back_as_it_was_stored(store: FeedbackStore) -> None:
    assert every_field_given(FULL)
    assert await store.record(select(FULL)) is None
    assert await store.get(FULL.id) == FULL
    assert await everything(store) == [FULL]


async def test_an_entry_with_nothing_optional_comes_back_as_it_was_stored(store: FeedbackStore) -> None:
    bare = entry(selection_query={}, selection_context={})
    await store.record(select(bare))
    assert await store.get(bare.id) == bare


async def test_an_unknown_entry_is_an_error_of_its_own(store: FeedbackStore) -> None:
    for unknown in ("00000000-0000-7000-8000-000000000000", "nonsense", "", ODD):
        with pytest.raises(UnknownEntry):
            await store.get(unknown)


async def test_a_report_changes_what_it_says_and_nothing_else(store: FeedbackStore) -> None:
    await store.record(select(FULL))
    later = START + timedelta(days=1, microseconds=7)
    told = await store.report(outcome_of(FULL, ResultFlag.FAILURE, at=later, detail={"why": ODD}))
    assert told.entry == msgspec.structs.replace(
        FULL,
        usage_count=8,
        updated_at=later,
        failure_class=FailureClass.LESSON,
        detail={"why": ODD},
        failures_seen=1,
    )
    assert await store.get(FULL.id) == told.entry


async def test_a_success_has_neither_failure_class_nor_the_detail_of_an_earlier_report(store: FeedbackStore) -> None:
    (one,) = await recorded(store, 1)
    await store.report(outcome_of(one, detail={"why": "it broke"}))
    told = await store.report(outcome_of(one, ResultFlag.SUCCESS))
    assert (told.entry.failure_class, told.entry.detail, told.entry.usage_count) == (None, None, 3)
    assert await store.get(one.id) == told.entry


@pytest.mark.parametrize("field", ["problem_solving_step_ref", "session_id"])
async def test_ids_that_look_alike_are_not_the_same(store: FeedbackStore, field: str) -> None:
    new_id = CountingIds()
    alike = [entry(id=new_id(), transaction_log_ref=new_id(), **{field: one}) for one in ALIKE]
    await all_of(*(store.record(select(one)) for one in alike))
    for n, one in enumerate(alike):
        command = outcome_of(one, detail={"number": n})
        report = msgspec.structs.replace(command.report, outcome_id=None)
        told = await store.report(msgspec.structs.replace(command, report=report))
        assert told.entry.id == one.id
    assert [(await store.get(one.id)).usage_count for one in alike] == [2] * len(alike)


async def test_the_latest_selection_is_the_last_one_stored_whatever_the_clock_says(store: FeedbackStore) -> None:
    first, last, older = entries(3, problem_solving_step_ref="step-17")
    last = msgspec.structs.replace(last, timestamp=START - timedelta(days=1), updated_at=START - timedelta(days=1))
    for one in (older, first, last):
        await store.record(select(one))
    command = outcome_of(last)
    latest = msgspec.structs.replace(command.report, outcome_id=None)
    assert (await store.report(msgspec.structs.replace(command, report=latest))).entry.id == last.id


async def test_an_outcome_id_means_exactly_that_selection(store: FeedbackStore) -> None:
    found = await recorded(store, 3, problem_solving_step_ref="step-17")
    assert (await store.report(outcome_of(found[1]))).entry.id == found[1].id
    assert [(await store.get(one.id)).usage_count for one in found] == [1, 2, 1]


@pytest.mark.parametrize(
    "other",
    [
        {"problem_solving_step_ref": "step-17 "},
        {"session_id": "S1"},
        {"outcome_id": "0000000c-0000-7000-8000-0000000000ff"},
        {"outcome_id": "0000000c-0000-7000-8000-00000000000c", "problem_solving_step_ref": "another step"},
    ],
)
async def test_a_report_of_what_was_never_selected_changes_nothing(store: FeedbackStore, other: dict[str, str]) -> None:
    one = entry()
    await store.record(select(one))
    command = outcome_of(one, policy=policy(1))
    report = msgspec.structs.replace(command.report, **{"outcome_id": None, **other})
    with pytest.raises(NoSelection) as refused:
        await store.report(msgspec.structs.replace(command, report=report))
    assert f"step {report.problem_solving_step_ref!r} of session {report.session_id!r}" in refused.value.detail
    assert ("`id` that POST /incorporator/invoke answered" in refused.value.detail) is (report.outcome_id is not None)
    assert await store.get(one.id) == one
    assert await store.counters() == {one.lesson_skill_id: counted(one)}
