"""What is stored together: nobody fails for another one."""

from __future__ import annotations

import anyio
import msgspec

from application.feedback.ports import FeedbackStore
from domain.errors import NoSelection
from domain.feedback.entry import FeedbackEntry
from domain.feedback.metrics import counted, total
from tests.contract.feedback_store.stories import entries, everything, recorded
from tests.fakes.clock import CountingIds
from tests.fakes.examples import entry, outcome_of, select
from tests.fakes.together import together


async def test_a_bad_selection_fails_alone(store: FeedbackStore) -> None:
    found = entries(8)
    twice = msgspec.structs.replace(found[3], transaction_log_ref=CountingIds(3)())
    unstorable = msgspec.structs.replace(found[5], selection_context={"half of a pair": "\ud83e"})
    sent = [*found[:5], unstorable, *found[6:], twice]
    results = await together(*(store.record(select(one)) for one in sent))
    failed = [n for n, result in enumerate(results) if isinstance(result, Exception)]
    assert failed in ([5, 8], [3, 5])
    stored = await everything(store)
    assert sorted(one.id for one in stored) == sorted(one.id for n, one in enumerate(found) if n != 5)
    assert total((await store.counters()).values()) == total(map(counted, stored))
    assert await store.record(select(msgspec.structs.replace(unstorable, selection_context={}))) is None


async def test_a_report_of_nothing_fails_alone(store: FeedbackStore) -> None:
    found = await recorded(store, 6)
    unknown = entry(session_id="another session")
    results = await together(*(store.report(outcome_of(one)) for one in [*found[:3], unknown, *found[3:]]))
    assert isinstance(results[3], NoSelection)
    assert sum(isinstance(one, Exception) for one in results) == 1
    assert (await store.counters())[found[0].lesson_skill_id].lesson_failures == 6


async def test_a_caller_that_gives_up_takes_nobody_with_it(store: FeedbackStore) -> None:
    found = entries(10)

    async def give_up(one: FeedbackEntry) -> None:
        with anyio.move_on_after(0):
            await store.record(select(one))

    async with anyio.create_task_group() as group:
        for one in found[:5]:
            group.start_soon(give_up, one)
        for one in found[5:]:
            group.start_soon(store.record, select(one))
    await anyio.sleep(0.02)
    stored = await everything(store)
    assert {one.id for one in found[5:]} <= {one.id for one in stored}
    assert total((await store.counters()).values()) == total(map(counted, stored))
