"""One of several processes that share a feedback database; run as a script with the address and the worker's number.

After a line on its standard input it records selections and reports failures of those and of the shared ones, many at
once, and prints as JSON what each report saw.
"""

from __future__ import annotations

import asyncio
import random
import sys

import msgspec

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE
from application.feedback.ports import Reported
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.feedback.escalation import PathMode
from tests.fakes.clock import CountingIds
from tests.fakes.examples import entry, outcome_of, policy, select

LESSONS = ("lesson a", "lesson b", "lesson c")
SHARED = 8
OWN = 40
THRESHOLD = 5


class Seen(msgspec.Struct, frozen=True):
    """What one report saw."""

    entry_id: str
    lesson: str
    report_number: int
    failures: int
    escalated: list[int]


def entries(series: int, count: int) -> list[FeedbackEntry]:
    new_id = CountingIds(series)
    return [
        entry(
            id=new_id(),
            transaction_log_ref=new_id(),
            session_id=f"session {series}",
            problem_solving_step_ref=f"step {number}",
            lesson_skill_id=LESSONS[number % len(LESSONS)],
        )
        for number in range(count)
    ]


async def work(dsn: str, number: int) -> list[Seen]:
    """Every entry of this worker's own is reported once, every shared one twice."""
    database = Database(dsn, FEEDBACK_DATABASE)
    store = SqlFeedbackStore(database=database, new_id=CountingIds(1000 + number))
    own, shared = entries(number, OWN), entries(0, SHARED)
    rules = policy(THRESHOLD, PathMode.HUMAN_ONLY)

    async def one(of: FeedbackEntry, *, record: bool) -> Reported:
        if record:
            await store.record(select(of))
        return await store.report(outcome_of(of, ResultFlag.FAILURE, policy=rules))

    calls = [one(of, record=True) for of in own] + [one(of, record=False) for of in shared * 2]
    random.shuffle(calls)
    told = await asyncio.gather(*calls)
    await database.aclose()
    return [
        Seen(
            of.entry.id,
            of.entry.lesson_skill_id,
            of.entry.report_number,
            of.entry.failures_seen or 0,
            [one.failure_count for one in of.escalations],
        )
        for of in told
    ]


if __name__ == "__main__":
    sys.stdin.readline()
    print(msgspec.json.encode(asyncio.run(work(sys.argv[1], int(sys.argv[2])))).decode())
