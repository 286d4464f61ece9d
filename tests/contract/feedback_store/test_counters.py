"""Counters equal a recount, whatever happens, on however many processes."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import timedelta

import msgspec
import pytest

from application.feedback.ports import FeedbackStore
from domain.errors import NoSelection, UnknownEntry
from domain.feedback.entry import FailureClass, ResultFlag
from domain.feedback.escalation import PathMode
from domain.feedback.metrics import Counters, counted, total
from tests.contract.adapters import Feedback
from tests.contract.feedback_store.stories import entries, everything, recorded
from tests.fakes.clock import START
from tests.fakes.examples import entry, outcome_of, policy, select
from tests.fakes.together import all_of


async def test_failures_of_a_lesson_are_counted_one_after_the_other(store: FeedbackStore) -> None:
    found = await recorded(store, 3)
    seen = [(await store.report(outcome_of(one))).entry.failures_seen for one in found]
    assert seen == [1, 2, 3]


async def test_a_failure_of_the_infrastructure_is_a_failure_but_not_the_lessons(store: FeedbackStore) -> None:
    one, other = await recorded(store, 2)
    told = await store.report(outcome_of(one, failure_class=FailureClass.INFRASTRUCTURE, policy=policy(1)))
    assert (told.entry.failures_seen, told.entry.failure_class) == (0, FailureClass.INFRASTRUCTURE)
    assert not told.escalations
    assert (await store.report(outcome_of(other))).entry.failures_seen == 1
    assert await store.round_counters(one.lesson_skill_id, 1) == Counters(usage_count=4, failure=2, lesson_failures=1)


async def test_failures_are_counted_by_review_round(store: FeedbackStore) -> None:
    old, new = entries(2)
    new = msgspec.structs.replace(new, review_round=2)
    for one in (old, new):
        await store.record(select(one))
        assert (await store.report(outcome_of(one))).entry.failures_seen == 1
    assert (await store.report(outcome_of(old))).entry.failures_seen == 1
    assert await store.round_counters(old.lesson_skill_id, 2) == Counters(usage_count=2, failure=1, lesson_failures=1)
    assert await store.counters() == {old.lesson_skill_id: Counters(usage_count=5, failure=2, lesson_failures=2)}


async def test_a_flag_that_flips_takes_its_earlier_count_back(store: FeedbackStore) -> None:
    (one,) = await recorded(store, 1)
    flags = [ResultFlag.FAILURE, ResultFlag.FAILURE, ResultFlag.SUCCESS, ResultFlag.PENDING, ResultFlag.FAILURE]
    seen = [(await store.report(outcome_of(one, flag))).entry.failures_seen for flag in flags]
    assert seen == [1, 1, 0, 0, 1]
    assert await store.counters() == {one.lesson_skill_id: Counters(usage_count=6, failure=1, lesson_failures=1)}


@pytest.mark.parametrize("seed", range(3))
async def test_counters_equal_a_recount_whatever_happens(store: FeedbackStore, seed: int) -> None:
    chance = random.Random(seed)
    found = [
        msgspec.structs.replace(
            one, lesson_skill_id=chance.choice(["l1", "L1", "l2"]), review_round=chance.choice([1, 2])
        )
        for one in entries(12)
    ]
    await all_of(*(store.record(select(one)) for one in found))
    for _ in range(6):
        reports = [
            outcome_of(
                chance.choice(found),
                chance.choice(list(ResultFlag)),
                failure_class=chance.choice(list(FailureClass)),
            )
            for _ in range(10)
        ]
        await all_of(*map(store.report, reports))
    stored = await everything(store)
    by_round: defaultdict[tuple[str, int], list[Counters]] = defaultdict(list)
    for one in stored:
        by_round[one.lesson_skill_id, one.review_round].append(counted(one))
    for (lesson_id, review_round), recount in by_round.items():
        assert await store.round_counters(lesson_id, review_round) == total(recount)
    assert total((await store.counters()).values()) == total(map(counted, stored))
    assert sum(one.usage_count for one in stored) == len(found) + 60


async def test_counters_of_one_lesson_are_its_own(store: FeedbackStore) -> None:
    mine, other = entries(2)
    for one in (mine, msgspec.structs.replace(other, lesson_skill_id="another")):
        await store.record(select(one))
    assert await store.counters("another") == {"another": Counters(usage_count=1, pending=1)}
    assert set(await store.counters()) == {"another", mine.lesson_skill_id}


async def test_an_unknown_lesson_has_no_counters(store: FeedbackStore) -> None:
    assert await store.counters() == {}
    await recorded(store, 1)
    assert await store.counters("unknown") == {}
    assert await store.round_counters("unknown", 1) == Counters()
    assert await store.round_counters(entry().lesson_skill_id, 99) == Counters()


async def test_reports_side_by_side_see_consecutive_counts_and_miss_no_crossing(store: FeedbackStore) -> None:
    found = await recorded(store, 40)
    rules = policy(5, PathMode.HUMAN_ONLY)
    told = await all_of(*(store.report(outcome_of(one, policy=rules)) for one in found))
    assert sorted(one.entry.failures_seen or 0 for one in told) == list(range(1, 41))
    escalated = [due.failure_count for one in told for due in one.escalations]
    assert sorted(escalated) == list(range(5, 41))
    assert (await store.counters())[found[0].lesson_skill_id].lesson_failures == 40


async def test_reports_of_one_entry_side_by_side_are_all_counted(store: FeedbackStore) -> None:
    (one,) = await recorded(store, 1)
    told = await all_of(*(store.report(outcome_of(one)) for _ in range(20)))
    assert sorted(reported.entry.report_number for reported in told) == list(range(1, 21))
    assert {reported.entry.failures_seen for reported in told} == {1}
    assert (await store.get(one.id)).usage_count == 21


async def test_processes_side_by_side_see_consecutive_counts(two_feedbacks: tuple[Feedback, Feedback]) -> None:
    stores = [one.store for one in two_feedbacks]
    found = await recorded(stores[0], 30)
    rules = policy(10, PathMode.AUTO_ONLY)
    told = await all_of(*(stores[n % 2].report(outcome_of(one, policy=rules)) for n, one in enumerate(found)))
    assert sorted(one.entry.failures_seen or 0 for one in told) == list(range(1, 31))
    assert sorted(due.failure_count for one in told for due in one.escalations) == list(range(10, 31))
    for store in stores:
        assert (await store.counters())[found[0].lesson_skill_id].lesson_failures == 30


async def test_pruning_deletes_old_entries_and_keeps_their_counts(store: FeedbackStore) -> None:
    old, new = entries(7)[:5], entries(7)[5:]
    for one in old:
        await store.record(select(one))
    later = START + timedelta(days=30)
    for one in new:
        await store.record(select(msgspec.structs.replace(one, timestamp=later, updated_at=later)))
    await store.report(outcome_of(old[0]))
    before = await store.counters()
    threshold = START + timedelta(days=1)
    first = await store.prune(threshold, 3)
    assert 0 < first <= 3
    while await store.prune(threshold, 3):
        pass
    assert [one.id for one in await everything(store)] == [one.id for one in reversed(new)]
    assert await store.counters() == before
    with pytest.raises(UnknownEntry):
        await store.get(old[0].id)
    with pytest.raises(NoSelection):
        await store.report(outcome_of(old[1]))
    assert (await store.report(outcome_of(new[0]))).entry.failures_seen == 2
