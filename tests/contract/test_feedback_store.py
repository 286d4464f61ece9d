"""What every feedback store keeps to: entries, their counters, their escalations and repeated requests."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import timedelta

import anyio
import msgspec
import pytest

from application.feedback.ports import EntryFilter, EscalationFilter, FeedbackStore, Outbox
from domain.errors import InvalidInput, KeyReused, NoSelection, RequestInProgress, UnknownEntry
from domain.feedback.entry import FailureClass, FeedbackEntry, ResultFlag
from domain.feedback.escalation import Path, PathMode, State
from domain.feedback.metrics import Counters, counted, total
from tests.contract.adapters import Feedback
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import ODD, entry, every_field_given, outcome_of, policy, request, select
from tests.fakes.together import all_of, together

FULL = entry(
    problem_solving_step_ref=ODD,
    session_id="\U0001f9ea" * 255,
    matched_entity_type="knowledge",
    selection_query={"problem_type": ODD, "session_id": "\U0001f9ea" * 255},
    selection_context={ODD: [1, -0.5, 1e300, 2**70, True, None, {"deep": [[[{}]]]}, ""], "long": "漢" * 70_000},
    result_flag=ResultFlag.FAILURE,
    usage_count=7,
    timestamp=START.replace(microsecond=999_999),
    updated_at=START.replace(microsecond=1),
    review_round=41,
    matcher_used="llm",
    fallback_reason="llm_unavailable",
    failure_class=FailureClass.INFRASTRUCTURE,
    detail={"said": ODD, "nothing": None},
    failures_seen=12,
)
ALIKE = ["a", "A", "a ", " a", "á", "a\u0301", "ａ", "ß", "ss", "%", "_", "\\", "'", "\U0001f9ea", "a\u200d"]


def entries(count: int, **fields: object) -> list[FeedbackEntry]:
    """So many selections, each of its own step and with its own outcome."""
    new_id, new_outcome = CountingIds(1), CountingIds(2)
    return [
        entry(id=new_id(), transaction_log_ref=new_outcome(), **{"problem_solving_step_ref": f"step-{n}", **fields})
        for n in range(count)
    ]


async def recorded(store: FeedbackStore, count: int, **fields: object) -> list[FeedbackEntry]:
    found = entries(count, **fields)
    await all_of(*(store.record(select(one)) for one in found))
    return found


async def everything(store: FeedbackStore, where: EntryFilter | None = None, limit: int = 1000) -> list[FeedbackEntry]:
    """All pages in order."""
    found: list[FeedbackEntry] = []
    cursor: str | None = None
    while True:
        page = await store.page(where or EntryFilter(), limit, cursor)
        found.extend(page.entries)
        cursor = page.next_cursor
        if cursor is None:
            return found


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


async def test_sessions_that_look_alike_are_told_apart_by_the_filter(store: FeedbackStore) -> None:
    new_id = CountingIds()
    for one in ALIKE:
        await store.record(select(entry(id=new_id(), transaction_log_ref=new_id(), session_id=one)))
    for one in ALIKE:
        assert [found.session_id for found in await everything(store, EntryFilter(session_id=one))] == [one]


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
    with pytest.raises(NoSelection):
        await store.report(msgspec.structs.replace(command, report=report))
    assert await store.get(one.id) == one
    assert await store.counters() == {one.lesson_skill_id: counted(one)}


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


async def test_what_is_due_is_in_the_outbox_with_the_report(store: FeedbackStore, outbox: Outbox) -> None:
    first, second = await recorded(store, 2)
    rules = policy(2, PathMode.BOTH)
    assert not (await store.report(outcome_of(first, policy=rules))).escalations
    later = START + timedelta(seconds=5)
    told = await store.report(outcome_of(second, policy=rules, at=later))
    assert [one.path for one in told.escalations] == [Path.HUMAN, Path.AUTO]
    for one in told.escalations:
        assert await outbox.get(one.id) == one
        assert one.entry_id == second.id
        assert (one.report_number, one.failure_count, one.review_round) == (1, 2, 1)
        assert (one.state, one.attempts, one.created_at) == (State.PENDING, 0, later)
        assert one.counters == Counters(usage_count=4, failure=2, lesson_failures=2)
        assert one.target == rules.targets[one.path]
    assert len((await outbox.page(EscalationFilter(), 100, None)).escalations) == 2


async def test_every_further_failure_escalates_again(store: FeedbackStore, outbox: Outbox) -> None:
    (one,) = await recorded(store, 1)
    rules = policy(1, PathMode.HUMAN_ONLY)
    told = [await store.report(outcome_of(one, policy=rules)) for _ in range(3)]
    assert [due.report_number for each in told for due in each.escalations] == [1, 2, 3]
    assert len((await outbox.page(EscalationFilter(), 100, None)).escalations) == 3


async def test_without_a_policy_nothing_is_escalated(store: FeedbackStore, outbox: Outbox) -> None:
    (one,) = await recorded(store, 1)
    assert not (await store.report(outcome_of(one, policy=None))).escalations
    assert not (await outbox.page(EscalationFilter(), 100, None)).escalations


async def test_only_what_the_request_carries_out_itself_starts_leased(store: FeedbackStore, outbox: Outbox) -> None:
    (one,) = await recorded(store, 1)
    until = START + timedelta(seconds=15)
    rules = policy(1, PathMode.BOTH, in_process=frozenset({Path.HUMAN}))
    await store.report(outcome_of(one, policy=rules, owner="me", leased_until=until))
    moment = START + timedelta(seconds=1)
    assert len(await outbox.claim(Path.AUTO, "another", moment, until, 10)) == 1
    assert not await outbox.claim(Path.HUMAN, "another", moment, until, 10)
    (held,) = await outbox.claim(Path.HUMAN, "another", until, until + timedelta(seconds=15), 10)
    assert held.path is Path.HUMAN


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


async def test_a_repeated_selection_has_one_effect_and_the_first_answer(store: FeedbackStore) -> None:
    one, other = entries(2)
    first = request(answer=ODD.encode())
    assert await store.answered(first) is None
    assert await store.record(select(one, first)) is None
    again = msgspec.structs.replace(first, at=START + timedelta(hours=23, minutes=59), answer=b"another")
    assert await store.record(select(other, again)) == ODD.encode()
    assert await store.answered(again) == ODD.encode()
    assert await everything(store) == [one]
    assert await store.counters() == {one.lesson_skill_id: counted(one)}


async def test_a_repeated_report_has_one_effect_and_the_first_answer(store: FeedbackStore, outbox: Outbox) -> None:
    (one,) = await recorded(store, 1)
    command = outcome_of(one, policy=policy(1), request=request())
    told = await store.report(command)
    await store.report(outcome_of(one, ResultFlag.SUCCESS))
    again = await store.report(msgspec.structs.replace(command, at=START + timedelta(hours=1)))
    assert (again.entry, list(again.escalations)) == (told.entry, [])
    assert (await store.get(one.id)).usage_count == 3
    assert len((await outbox.page(EscalationFilter(), 100, None)).escalations) == 2
    kept = await store.answered(request())
    assert kept is not None
    assert msgspec.json.decode(kept, type=FeedbackEntry) == told.entry


async def test_a_key_that_comes_again_with_another_body_is_refused(store: FeedbackStore) -> None:
    one, other = entries(2)
    await store.record(select(one, request()))
    stranger = request(fingerprint="f2")
    with pytest.raises(KeyReused):
        await store.record(select(other, stranger))
    with pytest.raises(KeyReused):
        await store.report(outcome_of(one, request=stranger))
    with pytest.raises(KeyReused):
        await store.answered(stranger)
    assert await everything(store) == [one]


async def test_a_key_belongs_to_its_scope_and_is_compared_exactly(store: FeedbackStore) -> None:
    found = entries(5)
    keys = [request(), request(scope="another"), request("K1"), request("k1 "), request("k\u0301")]
    for one, key in zip(found, keys, strict=True):
        assert await store.record(select(one, key)) is None
    assert len(await everything(store)) == 5


async def test_a_key_is_free_again_after_24_hours(store: FeedbackStore) -> None:
    one, other = entries(2)
    await store.record(select(one, request()))
    tomorrow = request(at=START + timedelta(hours=24), fingerprint="f2", answer=b"tomorrow's")
    assert await store.answered(tomorrow) is None
    assert await store.record(select(other, tomorrow)) is None
    assert await store.answered(tomorrow) == b"tomorrow's"
    assert len(await everything(store)) == 2


async def test_only_what_succeeded_is_kept_under_a_key(store: FeedbackStore) -> None:
    one = entry()
    command = outcome_of(one, request=request())
    with pytest.raises(NoSelection):
        await store.report(command)
    assert await store.answered(request()) is None
    await store.record(select(one))
    assert (await store.report(command)).entry.usage_count == 2


async def test_equal_selections_side_by_side_have_one_effect(store: FeedbackStore) -> None:
    found = entries(12)
    answers = [f"answer {n}".encode() for n in range(len(found))]
    results = await together(
        *(store.record(select(one, request(answer=answer))) for one, answer in zip(found, answers, strict=True))
    )
    (stored,) = await everything(store)
    winner = found.index(stored)
    for n, result in enumerate(results):
        if not isinstance(result, RequestInProgress):
            assert result == (None if n == winner else answers[winner])
    assert await store.answered(request()) == answers[winner]
    assert total((await store.counters()).values()) == counted(stored)


async def test_equal_reports_side_by_side_have_one_effect(store: FeedbackStore, outbox: Outbox) -> None:
    (one,) = await recorded(store, 1)
    command = outcome_of(one, policy=policy(1, PathMode.HUMAN_ONLY), request=request())
    results = await together(*(store.report(command) for _ in range(12)))
    told = [each for each in results if not isinstance(each, RequestInProgress | Exception)]
    assert len({msgspec.json.encode(each.entry) for each in told}) == 1
    assert sum(len(each.escalations) for each in told) == 1
    assert (await store.get(one.id)).usage_count == 2
    assert len((await outbox.page(EscalationFilter(), 100, None)).escalations) == 1


async def test_equal_keys_with_other_bodies_side_by_side_have_one_effect(store: FeedbackStore) -> None:
    found = entries(6)
    results = await together(*(store.record(select(one, request(fingerprint=f"f{n}"))) for n, one in enumerate(found)))
    (stored,) = await everything(store)
    for n, result in enumerate(results):
        if n == found.index(stored):
            assert result is None
        else:
            assert isinstance(result, KeyReused | RequestInProgress)


async def test_equal_requests_at_two_processes_have_one_effect(two_feedbacks: tuple[Feedback, Feedback]) -> None:
    stores = [one.store for one in two_feedbacks]
    for attempt in range(5):
        found = entries(4, session_id=f"session {attempt}")
        new_id = CountingIds(100 + attempt)
        found = [msgspec.structs.replace(one, id=new_id(), transaction_log_ref=new_id()) for one in found]
        key = request(f"key {attempt}")
        results = await together(*(stores[n % 2].record(select(one, key)) for n, one in enumerate(found)))
        stored = await everything(stores[0], EntryFilter(session_id=f"session {attempt}"))
        assert len(stored) == 1
        kinds = Counter(type(result) for result in results)
        assert kinds[type(None)] == 1
        assert set(kinds) <= {type(None), bytes, RequestInProgress}


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


async def test_old_answers_can_be_forgotten(store: FeedbackStore) -> None:
    one, other = entries(2)
    await store.record(select(one, request("old")))
    later = START + timedelta(hours=2)
    await store.record(select(other, request("new", at=later)))
    await store.forget_requests(START + timedelta(hours=1))
    assert await store.answered(request("old")) is None
    assert await store.answered(request("new", at=later)) == request().answer
    assert len(await everything(store)) == 2


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
