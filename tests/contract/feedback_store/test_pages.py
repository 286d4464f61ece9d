"""Pages of entries, and their filters."""

from __future__ import annotations

import msgspec
import pytest

from application.feedback.ports import EntryFilter, FeedbackStore
from domain.errors import InvalidInput
from domain.feedback.entry import ResultFlag
from tests.contract.feedback_store.stories import ALIKE, entries, everything, recorded
from tests.fakes.clock import CountingIds
from tests.fakes.examples import entry, outcome_of, select


async def test_sessions_that_look_alike_are_told_apart_by_the_filter(store: FeedbackStore) -> None:
    new_id = CountingIds()
    for one in ALIKE:
        await store.record(select(entry(id=new_id(), transaction_log_ref=new_id(), session_id=one)))
    for one in ALIKE:
        assert [found.session_id for found in await everything(store, EntryFilter(session_id=one))] == [one]


async def test_pages_are_newest_first_and_end(store: FeedbackStore) -> None:
    found = entries(7)
    for one in found:
        await store.record(select(one))
    page = await store.page(EntryFilter(), 3, None)
    assert list(page.entries) == found[:3:-1]
    assert page.next_cursor is not None
    for limit in (1, 2, 3, 6, 7, 8):
        assert await everything(store, limit=limit) == found[::-1]
    assert (await store.page(EntryFilter(), 7, None)).next_cursor is None


async def test_an_empty_store_has_one_empty_page(store: FeedbackStore) -> None:
    page = await store.page(EntryFilter(), 100, None)
    assert (list(page.entries), page.next_cursor) == ([], None)


async def test_cursors_stay_where_they_are_while_entries_are_added_and_changed(store: FeedbackStore) -> None:
    old, new = entries(6), entries(12)[6:]
    for one in old:
        await store.record(select(one))
    seen: list[str] = []
    cursor: str | None = None
    for fresh in new:
        page = await store.page(EntryFilter(), 2, cursor)
        seen.extend(one.id for one in page.entries)
        cursor = page.next_cursor
        await store.record(select(fresh))
        await store.report(outcome_of(old[0], ResultFlag.SUCCESS))
        if cursor is None:
            break
    assert seen == [one.id for one in reversed(old)]


@pytest.mark.parametrize("cursor", ["nonsense", "", "-1", "é", "\U0001f9ea", "MQ==", "before-x", "A" * 5000, "null"])
async def test_a_cursor_that_is_none_of_ours_is_refused(store: FeedbackStore, cursor: str) -> None:
    await recorded(store, 3)
    with pytest.raises(InvalidInput):
        await store.page(EntryFilter(), 2, cursor)


async def test_all_filters_hold_together(store: FeedbackStore) -> None:
    one, other, third, fourth = entries(4)
    other = msgspec.structs.replace(other, lesson_skill_id="another")
    third = msgspec.structs.replace(third, session_id="s2")
    for each in (one, other, third, fourth):
        await store.record(select(each))
    failed = (await store.report(outcome_of(fourth))).entry
    assert await everything(store, EntryFilter(lesson_skill_id="another")) == [other]
    assert await everything(store, EntryFilter(session_id="s2")) == [third]
    assert await everything(store, EntryFilter(result_flag=ResultFlag.FAILURE)) == [failed]
    assert await everything(store, EntryFilter(result_flag=ResultFlag.PENDING)) == [third, other, one]
    mine = EntryFilter(lesson_skill_id=one.lesson_skill_id, session_id="s1", result_flag=ResultFlag.PENDING)
    assert await everything(store, mine, limit=1) == [one]
    assert await everything(store, EntryFilter(lesson_skill_id="another", session_id="s2")) == []
