"""Several real processes on one feedback database: nothing is lost, nothing counted twice, no crossing missed."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path

import msgspec

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.feedback.sql_outbox import SqlOutbox
from adapters.sql.database import Database
from application.feedback.ports import EntryFilter, EscalationFilter
from domain.feedback.metrics import counted, total
from tests.fakes.clock import CountingIds
from tests.fakes.examples import select
from tests.integration.sql.worker import LESSONS, OWN, SHARED, THRESHOLD, Seen, entries

ROOT = Path(__file__).parents[3]
PROCESSES = 2


async def seen_by_processes(dsn: str) -> list[Seen]:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "tests.integration.sql.worker", dsn)
    processes = [
        await asyncio.create_subprocess_exec(*command, str(n), cwd=ROOT, stdin=pipe, stdout=pipe)
        for n in range(1, PROCESSES + 1)
    ]
    answers = await asyncio.gather(*(one.communicate(b"go\n") for one in processes))
    assert [one.returncode for one in processes] == [0] * PROCESSES
    return [seen for told, _ in answers for seen in msgspec.json.decode(told, type=list[Seen])]


async def test_processes_count_together(dsn: str, database: Database) -> None:
    store = SqlFeedbackStore(database=database, new_id=CountingIds(1000))
    for one in entries(0, SHARED):
        await store.record(select(one))

    seen = await seen_by_processes(dsn)

    reports = Counter(one.entry_id for one in seen)
    stored = (await store.page(EntryFilter(), 1000, None)).entries
    assert {one.id: one.usage_count - 1 for one in stored} == reports
    assert len(stored) == SHARED + PROCESSES * OWN
    for shared in entries(0, SHARED):
        numbers = sorted(one.report_number for one in seen if one.entry_id == shared.id)
        assert numbers == list(range(1, 2 * PROCESSES + 1))

    for lesson in LESSONS:
        of_lesson = [one for one in stored if one.lesson_skill_id == lesson]
        assert await store.round_counters(lesson, 1) == total(map(counted, of_lesson))
        failures = Counter(one.failures for one in seen if one.lesson == lesson)
        assert sorted(failures) == list(range(1, len(of_lesson) + 1))

    escalated = [one.failures for one in seen for _ in one.escalated]
    assert sorted(escalated) == sorted(one.failures for one in seen if one.failures >= THRESHOLD)
    assert all(one.escalated == [one.failures] for one in seen if one.failures >= THRESHOLD)
    outbox = (await SqlOutbox(database=database).page(EscalationFilter(), 1000, None)).escalations
    assert sorted(one.failure_count for one in outbox) == sorted(escalated)
