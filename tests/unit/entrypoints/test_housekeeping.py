"""What would grow for ever is forgotten in time: idempotency records, and what found no match."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

import anyio
import pytest

from application.feedback.ports import EntryFilter, FeedbackStore, Miss, Outbox
from application.learner.ports import LessonStore
from domain.feedback.escalation import PathMode
from entrypoints import background
from entrypoints.background import Job, feedback_housekeeping, lesson_housekeeping, miss_housekeeping
from tests.fakes.clock import START, FakeClock
from tests.fakes.fake_misses import FakeMissStore
from tests.fakes.fake_outbox import FakeOutbox
from tests.fakes.fake_target import ScriptedTarget
from tests.fakes.system import Feedback


class Forgetful:
    """Records until when it was told to forget, and to prune what is `left`."""

    def __init__(self) -> None:
        self.left = 0
        self.forgotten: list[datetime] = []
        self.pruned: list[datetime] = []

    async def forget_requests(self, before: datetime) -> None:
        self.forgotten.append(before)

    async def prune(self, before: datetime, limit: int) -> int:
        self.pruned.append(before)
        gone = min(self.left, limit)
        self.left -= gone
        return gone


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_HOUSEKEEPING_S", 0.01)
    monkeypatch.setattr(background, "_FIRST_HOUSEKEEPING_S", 0.01)


async def a_while(job: Job) -> None:
    """Lets a job do its work a few times."""
    with anyio.move_on_after(0.2):
        await job()


async def test_idempotency_records_are_forgotten_after_a_day() -> None:
    lessons, feedback = Forgetful(), Forgetful()
    await a_while(lesson_housekeeping(cast("LessonStore", lessons), FakeClock()))
    await a_while(feedback_housekeeping(cast("FeedbackStore", feedback), cast("Outbox", feedback), FakeClock(), None))
    assert lessons.forgotten[0] == feedback.forgotten[0] == START - timedelta(hours=24)
    assert feedback.pruned == []


async def test_the_first_round_comes_long_before_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_HOUSEKEEPING_S", 600.0)
    lessons = Forgetful()
    await a_while(lesson_housekeeping(cast("LessonStore", lessons), FakeClock()))
    assert len(lessons.forgotten) == 1


async def test_old_entries_and_then_settled_escalations_are_pruned_where_a_retention_is_set() -> None:
    outbox = FakeOutbox()
    of = Feedback(mode=PathMode.HUMAN_ONLY, outbox=outbox, human=ScriptedTarget(in_process=True))
    for age in (31, 29):
        of.clock.at = START - timedelta(days=age)
        await of.failed()
    await a_while(feedback_housekeeping(of.store, outbox, FakeClock(), 30))
    assert [one.created_at for one in await of.escalations()] == [START - timedelta(days=29)]
    assert len((await of.store.page(EntryFilter(), 10, None)).entries) == 1


async def test_escalations_wait_for_the_end_of_the_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_PORTIONS", 2)
    monkeypatch.setattr(background, "_PAUSE_S", 0.0)
    entries, escalations = Forgetful(), Forgetful()
    entries.left = 3 * background._PRUNED_AT_ONCE
    monkeypatch.setattr(background, "_HOUSEKEEPING_S", 600.0)
    await a_while(feedback_housekeeping(cast("FeedbackStore", entries), cast("Outbox", escalations), FakeClock(), 30))
    assert (len(entries.pruned), escalations.pruned) == (2, [])


async def test_misses_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MISSES_KEPT", 3)
    store = FakeMissStore()
    await store.add([Miss(problem_type=f"p{n}", count=1, last_at=START + timedelta(minutes=n)) for n in range(9)])
    await a_while(miss_housekeeping(store))
    assert [one.problem_type for one in await store.most_frequent(10)] == ["p6", "p7", "p8"]
