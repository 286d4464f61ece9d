"""What every outbox keeps to: each escalation is stored once, delivered by one at a time, and never forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
import pytest

from application.feedback.ports import EscalationFilter, Outbox
from domain.errors import Conflict, InvalidInput, UnknownEscalation
from domain.feedback.escalation import Escalation, Path, State
from domain.feedback.metrics import Counters
from tests.contract.adapters import Feedback
from tests.contract.paging import all_pages
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import ODD, escalation, every_field_given
from tests.fakes.together import all_of

LEASE = timedelta(seconds=15)
FULL = escalation(
    report_number=2_000_000_000,
    path=Path.AUTO,
    target=f"https://example.org/{ODD}",
    lesson_skill_id="0000000A-0000-7000-8000-00000000000A",
    review_round=9,
    failure_count=8,
    counters=Counters(usage_count=2**40, success=1, failure=2, pending=3, lesson_failures=4),
    state=State.FAILED,
    attempts=12,
    last_error=ODD,
    created_at=START.replace(microsecond=999_999),
    next_attempt_at=START.replace(microsecond=1),
    delivered_at=START.replace(microsecond=7),
)


def escalations(count: int, **fields: object) -> list[Escalation]:
    """So many, each of its own entry; the first is the oldest."""
    new_id, new_entry = CountingIds(1), CountingIds(2)
    return [
        escalation(
            id=new_id(),
            entry_id=new_entry(),
            **{"created_at": at, "next_attempt_at": at, **fields},
        )
        for at in (START + timedelta(milliseconds=n) for n in range(count))
    ]


async def put(outbox: Outbox, rows: Sequence[Escalation]) -> None:
    """Stores them with a lease that has ended already."""
    assert list(await outbox.put(rows, "nobody", START)) == list(rows)


async def everything(outbox: Outbox, where: EscalationFilter | None = None, limit: int = 1000) -> list[Escalation]:
    async def read(cursor: str | None) -> tuple[Sequence[Escalation], str | None]:
        page = await outbox.page(where or EscalationFilter(), limit, cursor)
        return page.escalations, page.next_cursor

    return await all_pages(read)


async def claim(
    outbox: Outbox, owner: str, at: datetime, limit: int = 100, path: Path = Path.HUMAN
) -> list[Escalation]:
    return list(await outbox.claim(path, owner, at, at + LEASE, limit))


LATER = START + timedelta(seconds=1)


async def test_an_escalation_comes_back_as_it_was_stored(outbox: Outbox) -> None:
    assert every_field_given(FULL)
    assert list(await outbox.put([FULL], "me", START)) == [FULL]
    assert await outbox.get(FULL.id) == FULL
    assert await everything(outbox) == [FULL]


async def test_a_claimed_escalation_is_as_it_was_stored(outbox: Outbox) -> None:
    waiting = msgspec.structs.replace(FULL, state=State.PENDING, delivered_at=None)
    await put(outbox, [waiting])
    assert await claim(outbox, "me", LATER, path=Path.AUTO) == [waiting]
    assert await outbox.get(waiting.id) == waiting


async def test_an_unknown_escalation_is_an_error_of_its_own(outbox: Outbox) -> None:
    for unknown in ("00000000-0000-7000-8000-000000000000", "nonsense", "", ODD):
        with pytest.raises(UnknownEscalation):
            await outbox.get(unknown)
        with pytest.raises(UnknownEscalation):
            await outbox.retry(unknown, START)


async def test_an_escalation_is_stored_once_for_one_report_and_path(outbox: Outbox) -> None:
    first = escalation()
    assert list(await outbox.put([first], "me", START)) == [first]
    new_id = CountingIds(9)
    again = msgspec.structs.replace(first, id=new_id())
    other_path = msgspec.structs.replace(first, id=new_id(), path=Path.AUTO)
    next_report = msgspec.structs.replace(first, id=new_id(), report_number=2)
    other_entry = msgspec.structs.replace(first, id=new_id(), entry_id=new_id())
    new = await outbox.put([again, other_path, next_report, other_entry], "me", START)
    assert list(new) == [other_path, next_report, other_entry]
    assert len(await everything(outbox)) == 4


async def test_nothing_to_put_is_nothing_new(outbox: Outbox) -> None:
    assert not await outbox.put([], "me", START)


async def test_one_escalation_put_side_by_side_is_new_to_one_caller_only(outbox: Outbox) -> None:
    new_id = CountingIds(9)
    rows = [msgspec.structs.replace(escalation(), id=new_id()) for _ in range(8)]
    new = await all_of(*(outbox.put([one], "me", START) for one in rows))
    (stored,) = await everything(outbox)
    assert [list(one) for one in new if one] == [[stored]]


async def test_what_was_put_is_leased_until_the_lease_ends(outbox: Outbox) -> None:
    await outbox.put([escalation()], "me", START + LEASE)
    almost = START + LEASE - timedelta(microseconds=1)
    assert await claim(outbox, "another", almost) == []
    assert await claim(outbox, "me", almost) == []
    assert len(await claim(outbox, "another", START + LEASE)) == 1


async def test_a_claim_takes_what_is_due_of_its_path_oldest_first(outbox: Outbox) -> None:
    rows = escalations(5)
    auto = msgspec.structs.replace(rows[1], path=Path.AUTO)
    not_due = msgspec.structs.replace(rows[3], next_attempt_at=LATER + timedelta(microseconds=1))
    await put(outbox, [rows[4], rows[0], auto, rows[2], not_due])
    assert await claim(outbox, "me", LATER) == [rows[0], rows[2], rows[4]]
    assert await claim(outbox, "me", LATER, path=Path.AUTO) == [auto]
    assert await claim(outbox, "me", LATER + timedelta(microseconds=1)) == [not_due]


async def test_a_claim_takes_no_more_than_it_asks_for(outbox: Outbox) -> None:
    rows = escalations(5)
    await put(outbox, rows)
    assert await claim(outbox, "me", LATER, 2) == rows[:2]
    assert await claim(outbox, "another", LATER, 2) == rows[2:4]
    assert await claim(outbox, "me", LATER, 2) == rows[4:]


@pytest.mark.parametrize("state", [State.DELIVERED, State.FAILED, State.SUPERSEDED])
async def test_only_pending_escalations_are_claimed(outbox: Outbox, state: State) -> None:
    await put(outbox, [escalation(state=state)])
    assert await claim(outbox, "me", LATER) == []


async def test_a_claim_is_exclusive_until_its_lease_ends(outbox: Outbox) -> None:
    rows = escalations(1)
    await put(outbox, rows)
    assert await claim(outbox, "me", LATER) == rows
    assert await claim(outbox, "another", LATER + LEASE - timedelta(microseconds=1)) == []
    assert await claim(outbox, "another", LATER + LEASE) == rows


async def test_a_clock_that_is_put_back_an_hour_holds_up_neither_a_waiting_row_nor_a_leased_one(
    outbox: Outbox,
) -> None:
    waiting, leased = escalations(2)
    ahead = LATER + timedelta(hours=1)
    await put(outbox, [msgspec.structs.replace(waiting, next_attempt_at=ahead)])
    await outbox.put([leased], "a dead process", ahead)
    assert [one.id for one in await claim(outbox, "me", LATER)] == [leased.id, waiting.id]


async def test_claims_side_by_side_share_the_rows_out(outbox: Outbox) -> None:
    rows = escalations(20)
    await put(outbox, rows)
    taken = await all_of(*(claim(outbox, f"owner {n}", LATER, 3) for n in range(6)))
    ids = [one.id for each in taken for one in each]
    assert len(ids) == len(set(ids))
    rest = await claim(outbox, "the last", LATER)
    assert sorted([*ids, *(one.id for one in rest)]) == [one.id for one in rows]


async def test_claims_of_processes_share_the_rows_out(two_feedbacks: tuple[Feedback, Feedback]) -> None:
    boxes = [one.outbox for one in two_feedbacks]
    rows = escalations(20)
    await put(boxes[0], rows)
    taken = await all_of(*(claim(boxes[n % 2], f"owner {n}", LATER, 4) for n in range(6)))
    ids = [one.id for each in taken for one in each]
    assert len(ids) == len(set(ids))
    assert len(ids) + len(await claim(boxes[1], "the last", LATER)) == len(rows)


@pytest.mark.parametrize("state", list(State))
async def test_a_settled_escalation_has_its_result_and_no_lease(outbox: Outbox, state: State) -> None:
    rows = escalations(1)
    await put(outbox, rows)
    (taken,) = await claim(outbox, "me", LATER)
    result = msgspec.structs.replace(
        taken,
        state=state,
        attempts=3,
        last_error=ODD,
        next_attempt_at=LATER + timedelta(seconds=2),
        delivered_at=LATER if state is State.DELIVERED else None,
    )
    assert await outbox.settle(result, "me")
    assert await outbox.get(taken.id) == result
    assert await claim(outbox, "another", LATER + timedelta(seconds=1)) == []
    due = await claim(outbox, "another", LATER + timedelta(seconds=2))
    assert due == ([result] if state is State.PENDING else [])


async def test_a_former_owners_result_is_refused(outbox: Outbox) -> None:
    await put(outbox, escalations(1))
    (taken,) = await claim(outbox, "me", LATER)
    await claim(outbox, "another", LATER + LEASE)
    mine = msgspec.structs.replace(taken, state=State.FAILED, attempts=1, last_error="too late")
    assert not await outbox.settle(mine, "me")
    assert await outbox.get(taken.id) == taken
    theirs = msgspec.structs.replace(taken, state=State.DELIVERED, attempts=1, delivered_at=LATER + LEASE)
    assert await outbox.settle(theirs, "another")
    assert not await outbox.settle(mine, "me")
    assert await outbox.get(taken.id) == theirs


async def test_a_result_after_the_lease_counts_as_long_as_nobody_else_took_the_row(outbox: Outbox) -> None:
    await put(outbox, escalations(1))
    (taken,) = await claim(outbox, "me", LATER)
    late = msgspec.structs.replace(taken, state=State.DELIVERED, attempts=1, delivered_at=LATER + 2 * LEASE)
    assert await outbox.settle(late, "me")
    assert await outbox.get(taken.id) == late


async def test_who_never_held_a_row_cannot_settle_it(outbox: Outbox) -> None:
    rows = escalations(1)
    await put(outbox, rows)
    assert not await outbox.settle(msgspec.structs.replace(rows[0], state=State.DELIVERED), "somebody")
    assert not await outbox.settle(escalation(state=State.DELIVERED), "somebody")
    assert await outbox.get(rows[0].id) == rows[0]


async def test_of_two_results_side_by_side_one_counts(outbox: Outbox) -> None:
    rows = escalations(1)
    await put(outbox, rows)
    await claim(outbox, "me", LATER)
    results = [msgspec.structs.replace(rows[0], state=State.DELIVERED, attempts=n) for n in (1, 2)]
    counted = await all_of(*(outbox.settle(one, "me") for one in results))
    assert sorted(counted) == [False, True]
    assert await outbox.get(rows[0].id) == results[counted.index(True)]


@pytest.mark.parametrize("state", [State.FAILED, State.PENDING])
async def test_a_retry_makes_a_failed_or_waiting_row_due_at_once_with_its_attempts_anew(
    outbox: Outbox, state: State
) -> None:
    row = escalation(state=state, attempts=12, last_error="down", next_attempt_at=START + timedelta(minutes=4))
    await put(outbox, [row])
    assert await claim(outbox, "me", LATER) == []
    again = await outbox.retry(row.id, LATER)
    assert again == msgspec.structs.replace(row, state=State.PENDING, attempts=0, next_attempt_at=LATER)
    assert await outbox.get(row.id) == again
    assert await claim(outbox, "me", LATER) == [again]


@pytest.mark.parametrize("state", [State.DELIVERED, State.SUPERSEDED])
async def test_what_is_done_is_not_retried(outbox: Outbox, state: State) -> None:
    row = escalation(state=state, attempts=1)
    await put(outbox, [row])
    with pytest.raises(Conflict):
        await outbox.retry(row.id, LATER)
    assert await outbox.get(row.id) == row


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("state", [State.PENDING, State.FAILED])
async def test_a_retry_during_an_attempt_is_due_when_that_ends_and_not_overwritten_by_its_failure(
    outbox: Outbox, state: State, times: int
) -> None:
    await put(outbox, escalations(1, attempts=2))
    (taken,) = await claim(outbox, "me", LATER)
    for _ in range(times):
        again = await outbox.retry(taken.id, LATER)
    assert (again.state, again.attempts, again.next_attempt_at) == (State.PENDING, 0, LATER)
    assert await claim(outbox, "another", LATER) == []
    result = msgspec.structs.replace(
        taken, state=state, attempts=3, last_error="down", next_attempt_at=LATER + timedelta(minutes=5)
    )
    assert not await outbox.settle(result, "me")
    still_due = msgspec.structs.replace(again, last_error="down")
    assert await outbox.get(taken.id) == still_due
    assert await claim(outbox, "another", LATER) == [still_due]
    assert not await outbox.settle(result, "me")
    assert await outbox.get(taken.id) == still_due


@pytest.mark.parametrize("state", [State.DELIVERED, State.SUPERSEDED])
async def test_a_retry_during_an_attempt_is_done_where_that_attempt_succeeds(outbox: Outbox, state: State) -> None:
    await put(outbox, escalations(1))
    (taken,) = await claim(outbox, "me", LATER)
    await outbox.retry(taken.id, LATER)
    result = msgspec.structs.replace(taken, state=state, attempts=1)
    assert await outbox.settle(result, "me")
    assert await outbox.get(taken.id) == result


async def test_a_retry_of_a_row_whose_owner_died_is_due_when_the_lease_ends(outbox: Outbox) -> None:
    await put(outbox, escalations(1))
    await claim(outbox, "a dead process", LATER)
    again = await outbox.retry(escalations(1)[0].id, LATER)
    assert await claim(outbox, "me", LATER + LEASE) == [again]


async def test_a_retry_after_a_lease_ended_is_due_at_once_and_no_business_of_the_former_owner(outbox: Outbox) -> None:
    await put(outbox, escalations(1))
    (taken,) = await claim(outbox, "me", LATER)
    again = await outbox.retry(taken.id, LATER + LEASE)
    failed = msgspec.structs.replace(taken, state=State.FAILED, attempts=1, last_error="too late")
    assert not await outbox.settle(failed, "me")
    assert await outbox.get(taken.id) == again
    assert await claim(outbox, "another", LATER + LEASE) == [again]


async def test_an_owner_that_stops_gives_its_rows_back_and_nobody_elses(outbox: Outbox) -> None:
    rows = escalations(4)
    await put(outbox, rows[:3])
    await claim(outbox, "another", LATER, 1)
    await claim(outbox, "me", LATER)
    await outbox.put(rows[3:], "me", LATER + LEASE)
    again = await outbox.retry(rows[2].id, LATER)
    await outbox.release("me")
    assert not await outbox.settle(msgspec.structs.replace(rows[1], state=State.FAILED, attempts=1), "me")
    free = await claim(outbox, "the next process", LATER)
    assert sorted(free, key=lambda one: one.id) == [rows[1], again, rows[3]]
    assert await claim(outbox, "the next process", LATER + LEASE) == [*rows[:1], *free]


async def test_an_owner_that_stops_without_any_row_changes_nothing(outbox: Outbox) -> None:
    await outbox.release("me")
    await put(outbox, [FULL])
    await outbox.release("me")
    assert await everything(outbox) == [FULL]


async def settled(outbox: Outbox, rows: Sequence[Escalation], state: State, at: datetime) -> None:
    """Stores rows that end in this state at this moment."""
    await outbox.put(rows, "me", at + LEASE)
    for row in rows:
        assert await outbox.settle(msgspec.structs.replace(row, state=state, attempts=1, next_attempt_at=at), "me")


@pytest.mark.parametrize("path", list(Path))
@pytest.mark.parametrize("state", [State.DELIVERED, State.SUPERSEDED, State.FAILED])
async def test_what_was_settled_before_a_moment_is_pruned_in_portions(outbox: Outbox, state: State, path: Path) -> None:
    rows = escalations(7, path=path)
    await settled(outbox, rows[:5], state, START)
    await settled(outbox, rows[5:], state, LATER)
    assert [await outbox.prune(LATER, 3) for _ in range(3)] == [3, 2, 0]
    assert [one.id for one in await everything(outbox)] == [rows[6].id, rows[5].id]
    with pytest.raises(UnknownEscalation):
        await outbox.get(rows[0].id)


async def test_what_is_still_to_be_delivered_is_never_pruned(outbox: Outbox) -> None:
    waiting, taken, again = rows = escalations(3)
    await put(outbox, [waiting])
    await outbox.put([taken], "me", START + LEASE)
    await settled(outbox, [again], State.FAILED, START)
    await outbox.retry(again.id, START + timedelta(minutes=1))
    assert await outbox.prune(START + timedelta(days=3650), 100) == 0
    assert {one.id for one in await everything(outbox)} == {one.id for one in rows}


async def test_pruning_takes_more_than_one_transaction_holds(outbox: Outbox) -> None:
    rows = [msgspec.structs.replace(one, state=State.DELIVERED) for one in escalations(1_201)]
    await put(outbox, rows)
    assert await outbox.prune(LATER + timedelta(days=1), 1_100) == 1_100
    assert len(await everything(outbox)) == 101


async def test_pages_are_newest_first_and_end(outbox: Outbox) -> None:
    rows = escalations(7)
    await put(outbox, rows)
    for limit in (1, 2, 3, 6, 7, 8):
        assert await everything(outbox, limit=limit) == rows[::-1]
    assert (await outbox.page(EscalationFilter(), 7, None)).next_cursor is None


async def test_an_empty_outbox_has_one_empty_page_and_nothing_pending(outbox: Outbox) -> None:
    page = await outbox.page(EscalationFilter(), 100, None)
    assert (list(page.escalations), page.next_cursor) == ([], None)
    assert await outbox.oldest_pending() is None


async def test_cursors_stay_where_they_are_while_escalations_are_added(outbox: Outbox) -> None:
    rows = escalations(9)
    await put(outbox, rows[:4])
    seen: list[Escalation] = []
    cursor: str | None = None
    for fresh in rows[4:]:
        page = await outbox.page(EscalationFilter(), 1, cursor)
        seen.extend(page.escalations)
        cursor = page.next_cursor
        await put(outbox, [fresh])
        if cursor is None:
            break
    assert seen == rows[3::-1]


@pytest.mark.parametrize("cursor", ["nonsense", "", "-1", "é", "\U0001f9ea", "MQ==", "before-x", "A" * 5000, "null"])
async def test_a_cursor_that_is_none_of_ours_is_refused(outbox: Outbox, cursor: str) -> None:
    await put(outbox, escalations(3))
    with pytest.raises(InvalidInput):
        await outbox.page(EscalationFilter(), 2, cursor)


async def test_all_filters_hold_together(outbox: Outbox) -> None:
    one, other, third = escalations(3)
    other = msgspec.structs.replace(other, lesson_skill_id=one.lesson_skill_id.upper())
    third = msgspec.structs.replace(third, state=State.FAILED)
    await put(outbox, [one, other, third])
    assert await everything(outbox, EscalationFilter(lesson_skill_id=one.lesson_skill_id)) == [third, one]
    assert await everything(outbox, EscalationFilter(state=State.FAILED)) == [third]
    mine = EscalationFilter(lesson_skill_id=one.lesson_skill_id, state=State.PENDING)
    assert await everything(outbox, mine) == [one]
    assert await everything(outbox, EscalationFilter(lesson_skill_id="unknown")) == []


async def test_the_oldest_pending_row_tells_how_far_behind_the_deliveries_are(outbox: Outbox) -> None:
    rows = escalations(3)
    first = msgspec.structs.replace(rows[0], state=State.FAILED)
    await put(outbox, [first, *rows[1:]])
    assert await outbox.oldest_pending() == rows[1].created_at
    await claim(outbox, "me", LATER, 1)
    assert await outbox.oldest_pending() == rows[1].created_at
    await outbox.settle(msgspec.structs.replace(rows[1], state=State.DELIVERED), "me")
    assert await outbox.oldest_pending() == rows[2].created_at
