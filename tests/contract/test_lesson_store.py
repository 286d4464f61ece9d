"""What every object store keeps to: lessons, logs, promoted copies, embeddings and the catalog revision."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from application.learner.ports import (
    CatalogDelta,
    CatalogItem,
    LessonChange,
    LessonFilter,
    LessonStore,
    StoredVectors,
)
from domain.errors import InvalidInput, KeyReused, RequestInProgress, UnknownLesson
from domain.learner.lesson import Bin, Lesson, PromotedLesson, Status, promoted_copy
from domain.learner.log import Event, LogEntry, QueuedLesson
from domain.values import JsonObject
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import (
    ESCALATION_ID,
    ODD,
    every_field_given,
    flag,
    injected,
    lesson,
    log_entry,
    promoted,
    request,
    vectors,
)
from tests.fakes.together import all_of, together

PAYLOAD: JsonObject = {"action": ODD, ODD: [1, -0.5, 1e300, 2**70, True, None, {"deep": [[[{}]]]}, ""]}
FULL = lesson(
    bin=Bin.KNOWLEDGE,
    title=ODD,
    body=ODD + "漢" * 70_000,
    tags=(ODD, "", "a,b", '"', "a", "A"),
    dsl_payload=PAYLOAD,
    status=Status.DISABLED,
    version=41,
    review_round=40,
    source=ODD,
    created_at=START.replace(microsecond=999_999),
    updated_at=START.replace(microsecond=1),
    disabled_by_escalation=True,
)
LATER = START + timedelta(minutes=1, microseconds=1)
TAGS = [
    "uploads",
    "Uploads",
    "upload",
    "a,",
    ",",
    'a"b',
    '","',
    "%",
    "_",
    "\\",
    "é",
    "e\u0301",
    " ",
    "\U0001f9ea",
    "[",
    "",
]
UNKNOWN = "00000000-0000-7000-8000-0000000000ff"


def many(count: int, **fields: Any) -> list[Lesson]:
    """So many lessons; the first is the oldest."""
    new_id = CountingIds(1)
    return [
        lesson(id=new_id(), **{"created_at": at, "updated_at": at, **fields})
        for at in (START + timedelta(seconds=n) for n in range(count))
    ]


async def added(store: LessonStore, *lessons: Lesson) -> None:
    assert await store.add([injected(one) for one in lessons]) is None


def promotion(before: Lesson, after: Lesson | None = None, *, embedded: StoredVectors | None = None) -> LessonChange:
    """The change that promotes the lesson."""
    after = after or promoted_now(before)
    return LessonChange(
        lesson=after,
        expected=before,
        log=[log_entry(Event.APPROVED, lesson_id=before.id, at=after.updated_at)],
        promote=promoted_copy(after, at=after.updated_at),
        vectors=embedded,
    )


def promoted_now(before: Lesson, **fields: Any) -> Lesson:
    return msgspec.structs.replace(
        before,
        status=Status.PROMOTED,
        version=before.version + 1,
        review_round=before.review_round + 1,
        updated_at=LATER,
        **fields,
    )


def removal(before: Lesson) -> LessonChange:
    """The change that disables the lesson and deletes its copy, if there is one."""
    after = msgspec.structs.replace(before, status=Status.DISABLED, version=before.version + 1, updated_at=LATER)
    entry = log_entry(Event.DISABLED, lesson_id=before.id, at=LATER)
    return LessonChange(lesson=after, expected=before, log=[entry], deletes_copy=True)


async def promote(store: LessonStore, before: Lesson, **fields: Any) -> Lesson:
    after = promoted_now(before, **fields)
    assert await store.change(promotion(before, after))
    return after


async def remove(store: LessonStore, before: Lesson) -> Lesson:
    change = removal(before)
    assert await store.change(change)
    return change.lesson


def embedded(of: Lesson, *, at: datetime = LATER, **fields: Any) -> CatalogItem:
    """The lesson's copy as it was promoted, with embeddings."""
    return CatalogItem(copy=promoted_copy(of, at=at), vectors=vectors(of.id, bin=of.bin, **fields))


async def everything(store: LessonStore, where: LessonFilter | None = None, limit: int = 1000) -> list[Lesson]:
    found: list[Lesson] = []
    cursor: str | None = None
    while True:
        page = await store.page(where or LessonFilter(), limit, cursor)
        found.extend(page.lessons)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def followed(
    store: LessonStore, since: int = 0, limit: int = 1000, embedder: str = "three"
) -> list[CatalogDelta]:
    """All deltas from a revision on."""
    deltas: list[CatalogDelta] = []
    while not deltas or not deltas[-1].complete:
        delta = await store.changes_since(since, embedder, limit)
        assert len(delta.promoted) + len(delta.removed) <= limit
        deltas.append(delta)
        since = delta.revision
    return deltas


def caught_up(known: dict[str, PromotedLesson], deltas: Sequence[CatalogDelta]) -> dict[str, PromotedLesson]:
    """What a catalog knows after these deltas."""
    known = dict(known)
    for delta in deltas:
        for lesson_id in delta.removed:
            known.pop(lesson_id, None)
        known.update({item.copy.id: item.copy for item in delta.promoted})
    return known


async def test_a_lesson_comes_back_as_it_was_stored(lessons: LessonStore) -> None:
    assert every_field_given(FULL)
    entry = log_entry(at=START.replace(microsecond=3), actor=ODD, detail=PAYLOAD)
    assert await lessons.add([LessonChange(lesson=FULL, expected=None, log=[entry])]) is None
    assert await lessons.get(FULL.id) == FULL
    assert await everything(lessons) == [FULL]
    assert list(await lessons.log(FULL.id)) == [entry]


@pytest.mark.parametrize("payload", [None, {}, {"action": None}])
async def test_no_payload_is_another_thing_than_an_empty_one(lessons: LessonStore, payload: object) -> None:
    one = lesson(dsl_payload=payload, tags=(), source="")
    await added(lessons, one)
    assert await lessons.get(one.id) == one


@pytest.mark.parametrize("lesson_id", [UNKNOWN, "nonsense", "", ODD])
async def test_an_unknown_lesson_is_an_error_of_its_own(lessons: LessonStore, lesson_id: str) -> None:
    with pytest.raises(UnknownLesson):
        await lessons.get(lesson_id)
    with pytest.raises(UnknownLesson):
        await lessons.log(lesson_id)
    with pytest.raises(UnknownLesson):
        await lessons.erase(lesson_id, log_entry(Event.ERASED))


async def test_lessons_are_added_all_or_none(lessons: LessonStore) -> None:
    good = many(4)
    twice = msgspec.structs.replace(good[1], title="The same id again")
    results = await together(lessons.add([injected(one) for one in [*good, twice]], request()))
    assert isinstance(results[0], Exception)
    assert await everything(lessons) == []
    assert await lessons.answered(request()) is None
    await added(lessons, *good)
    assert await everything(lessons) == good[::-1]


async def test_a_bad_lesson_fails_only_its_own_request(lessons: LessonStore) -> None:
    good = many(5)
    unstorable = lesson(dsl_payload={"half of a pair": "\ud83e"})
    results = await together(*(lessons.add([injected(one)]) for one in [*good[:3], unstorable, *good[3:]]))
    assert [isinstance(one, Exception) for one in results] == [False, False, False, True, False, False]
    assert await everything(lessons) == good[::-1]


async def test_a_repeated_injection_has_one_effect_and_the_first_answer(lessons: LessonStore) -> None:
    one, other = many(2)
    first = request(answer=ODD.encode())
    assert await lessons.answered(first) is None
    assert await lessons.add([injected(one)], first) is None
    again = msgspec.structs.replace(first, at=START + timedelta(hours=23, minutes=59), answer=b"another")
    assert await lessons.add([injected(other)], again) == ODD.encode()
    assert await lessons.answered(again) == ODD.encode()
    assert await everything(lessons) == [one]


async def test_a_key_that_comes_again_with_another_body_is_refused(lessons: LessonStore) -> None:
    one, other = many(2)
    await lessons.add([injected(one)], request())
    with pytest.raises(KeyReused):
        await lessons.add([injected(other)], request(fingerprint="f2"))
    with pytest.raises(KeyReused):
        await lessons.answered(request(fingerprint="f2"))
    assert await everything(lessons) == [one]


async def test_a_key_belongs_to_its_scope_and_is_free_again_after_24_hours(lessons: LessonStore) -> None:
    new = many(4)
    tomorrow = request(at=START + timedelta(hours=24), fingerprint="f2", answer=b"tomorrow's")
    for one, key in zip(new, [request(), request(scope="another"), request("K1"), tomorrow], strict=True):
        assert await lessons.add([injected(one)], key) is None
    assert await lessons.answered(tomorrow) == b"tomorrow's"
    assert len(await everything(lessons)) == 4


async def test_equal_injections_side_by_side_have_one_effect(lessons: LessonStore) -> None:
    new = many(8)
    answers = [f"answer {n}".encode() for n in range(len(new))]
    results = await together(
        *(lessons.add([injected(one)], request(answer=answer)) for one, answer in zip(new, answers, strict=True))
    )
    (stored,) = await everything(lessons)
    winner = new.index(stored)
    for n, result in enumerate(results):
        if not isinstance(result, RequestInProgress):
            assert result == (None if n == winner else answers[winner])


async def test_old_answers_can_be_forgotten(lessons: LessonStore) -> None:
    one, other = many(2)
    later = START + timedelta(hours=2)
    await lessons.add([injected(one)], request("old"))
    await lessons.add([injected(other)], request("new", at=later))
    await lessons.forget_requests(START + timedelta(hours=1))
    assert await lessons.answered(request("old")) is None
    assert await lessons.answered(request("new", at=later)) == request().answer


async def test_a_change_is_stored_whole(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    after = msgspec.structs.replace(FULL, id=before.id, created_at=before.created_at)
    entries = [
        log_entry(Event.EDITED, at=LATER, actor=ODD, detail=PAYLOAD),
        log_entry(Event.DISABLED, at=LATER, detail={}),
    ]
    assert await lessons.change(LessonChange(lesson=after, expected=before, log=entries))
    assert await lessons.get(before.id) == after
    assert list(await lessons.log(before.id))[1:] == entries


@pytest.mark.parametrize(
    "other",
    [
        {"status": Status.PENDING_REVIEW},
        {"version": 3},
        {"review_round": 2},
        {"title": "Retry Uploads"},
        {"dsl_payload": {}},
        {"updated_at": LATER},
        {"disabled_by_escalation": True},
    ],
)
async def test_a_change_of_a_row_that_is_not_as_expected_changes_nothing(
    lessons: LessonStore, other: dict[str, Any]
) -> None:
    now = promoted()
    await added(lessons, now)
    outdated = msgspec.structs.replace(now, **other)
    assert not await lessons.change(promotion(outdated))
    assert await lessons.get(now.id) == now
    assert len(await lessons.log(now.id)) == 1
    assert await lessons.copies([now.id]) == {}
    assert await lessons.revision() == 0


async def test_of_decisions_side_by_side_one_is_stored(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    changes = [promotion(before, promoted_now(before, title=f"Title {n}")) for n in range(8)]
    stored = await all_of(*map(lessons.change, changes))
    assert stored.count(True) == 1
    winner = changes[stored.index(True)]
    assert await lessons.get(before.id) == winner.lesson
    assert await lessons.copies([before.id]) == {before.id: winner.promote}
    assert [one.event for one in await lessons.log(before.id)] == [Event.INJECTED, Event.APPROVED]
    assert await lessons.revision() == 1


async def test_of_decisions_at_two_processes_one_is_stored(two_lesson_stores: tuple[LessonStore, LessonStore]) -> None:
    before = lesson()
    await added(two_lesson_stores[0], before)
    changes = [promotion(before, promoted_now(before, title=f"Title {n}")) for n in range(6)]
    stored = await all_of(*(two_lesson_stores[n % 2].change(change) for n, change in enumerate(changes)))
    assert stored.count(True) == 1
    for store in two_lesson_stores:
        assert await store.get(before.id) == changes[stored.index(True)].lesson
        assert len(await store.log(before.id)) == 2


async def test_decisions_on_different_lessons_do_not_disturb_each_other(lessons: LessonStore) -> None:
    before = many(10)
    await added(lessons, *before)
    assert all(await all_of(*(lessons.change(promotion(one)) for one in before)))
    (delta,) = await followed(lessons)
    assert {item.copy.id for item in delta.promoted} == {one.id for one in before}
    assert delta.revision == await lessons.revision() == 10


async def test_a_change_may_append_to_the_log_alone(lessons: LessonStore) -> None:
    waiting = lesson(status=Status.PENDING_REVIEW)
    await added(lessons, waiting)
    flags = [log_entry(Event.RUNTIME_FAILURE_FLAGGED, at=LATER, detail={"number": n}) for n in range(3)]
    for n, entry in enumerate(flags):
        change = LessonChange(lesson=waiting, expected=waiting, log=[entry], escalation_id=CountingIds(50 + n)())
        assert await lessons.change(change)
    assert await lessons.get(waiting.id) == waiting
    assert list(await lessons.log(waiting.id))[1:] == flags


async def test_an_escalation_has_one_effect(lessons: LessonStore) -> None:
    waiting = lesson()
    await added(lessons, waiting)
    assert not await lessons.escalation_applied(ESCALATION_ID)
    entry = log_entry(Event.RUNTIME_FAILURE_FLAGGED, detail=flag().as_detail())
    change = LessonChange(lesson=waiting, expected=waiting, log=[entry], escalation_id=ESCALATION_ID)
    assert await lessons.change(change)
    assert await lessons.escalation_applied(ESCALATION_ID)
    assert not await lessons.change(change)
    assert len(await lessons.log(waiting.id)) == 2
    assert not await lessons.escalation_applied(UNKNOWN)


async def test_an_escalation_applied_side_by_side_has_one_effect(lessons: LessonStore) -> None:
    waiting = lesson()
    await added(lessons, waiting)
    entry = log_entry(Event.RUNTIME_FAILURE_FLAGGED)
    change = LessonChange(lesson=waiting, expected=waiting, log=[entry], escalation_id=ESCALATION_ID)
    stored = await all_of(*(lessons.change(change) for _ in range(6)))
    assert stored.count(True) == 1
    assert len(await lessons.log(waiting.id)) == 2


async def test_an_escalation_that_came_too_late_was_not_applied(lessons: LessonStore) -> None:
    now = promoted()
    await added(lessons, now)
    outdated = msgspec.structs.replace(now, version=1)
    change = LessonChange(lesson=now, expected=outdated, log=[log_entry()], escalation_id=ESCALATION_ID)
    assert not await lessons.change(change)
    assert not await lessons.escalation_applied(ESCALATION_ID)


async def test_the_queue_holds_what_awaits_review_longest_waiting_first(lessons: LessonStore) -> None:
    one, other, third, fourth = many(4)
    await added(lessons, fourth, other, one, third)
    await promote(lessons, other)
    queue = (await lessons.queue()).waiting
    assert [found for found, _ in queue] == [one, third, fourth]
    assert [found for found, _ in (await lessons.queue(2)).waiting] == [one, third]
    for found, why in queue:
        assert (why.lesson_id, why.reason, why.flag) == (found.id, "injected", None)


async def test_the_queue_goes_on_where_a_page_ended_also_among_lessons_of_one_moment(lessons: LessonStore) -> None:
    waiting = [*many(3), *many(7, updated_at=LATER)[3:]]
    await added(lessons, *waiting)
    reason = flag(reason="3 failed")
    for one in waiting[4:6]:
        entry = log_entry(Event.RUNTIME_FAILURE_FLAGGED, lesson_id=one.id, detail=reason.as_detail())
        assert await lessons.change(LessonChange(lesson=one, expected=one, log=[entry]))
    found: list[tuple[Lesson, QueuedLesson]] = []
    cursor: str | None = None
    while not found or cursor is not None:
        page = await lessons.queue(2, cursor)
        assert len(page.waiting) == 2 or page.next_cursor is None
        found += page.waiting
        cursor = page.next_cursor
        await promote(lessons, page.waiting[0][0])
    assert [one for one, _ in found] == sorted(waiting, key=lambda one: (one.updated_at, one.id))
    assert {one.id for one, why in found if why.flag == reason} == {one.id for one in waiting[4:6]}


async def test_a_flagged_lesson_is_queued_with_its_last_flag_from_when_it_came_back(lessons: LessonStore) -> None:
    flagged, waiting, newer = many(3)
    await added(lessons, flagged, waiting, newer)
    current = await promote(lessons, flagged)
    back = msgspec.structs.replace(
        current, status=Status.PENDING_REVIEW, updated_at=newer.updated_at - timedelta(milliseconds=500)
    )
    first, last = flag(reason="first"), flag(reason=ODD, failure_count=4, feedback={"failure": 4, "success": 2**40})
    for before, why in ((current, first), (back, last)):
        entry = log_entry(Event.RUNTIME_FAILURE_FLAGGED, lesson_id=flagged.id, detail=why.as_detail())
        assert await lessons.change(LessonChange(lesson=back, expected=before, log=[entry]))
    queue = (await lessons.queue()).waiting
    assert [found for found, _ in queue] == [waiting, back, newer]
    (_, _), (_, why_back), (_, _) = queue
    assert (why_back.reason, why_back.flag) == (ODD, last)
    decided = msgspec.structs.replace(back, status=Status.REJECTED)
    assert await lessons.change(LessonChange(lesson=decided, expected=back, log=[log_entry(lesson_id=back.id)]))
    assert [found for found, _ in (await lessons.queue()).waiting] == [waiting, newer]


async def test_a_copy_and_its_vectors_come_back_as_they_were_stored(lessons: LessonStore) -> None:
    before = lesson(bin=Bin.KNOWLEDGE, title="Before")
    await added(lessons, before)
    content = {name: getattr(FULL, name) for name in ("title", "body", "tags", "dsl_payload")}
    after = promoted_now(before, **content)
    stored = StoredVectors(
        lesson_id=before.id, bin=Bin.KNOWLEDGE, embedder=ODD, dimension=3, count=2, data=bytes(range(232, 256))
    )
    assert await lessons.change(promotion(before, after, embedded=stored))
    copy = promoted_copy(after, at=LATER)
    assert every_field_given(copy)
    assert await lessons.copies([before.id]) == {before.id: copy}
    (delta,) = await followed(lessons, embedder=ODD)
    assert list(delta.promoted) == [CatalogItem(copy=copy, vectors=stored)]
    assert list(await lessons.embedders()) == [(ODD, 3)]


async def test_copies_are_found_of_promoted_lessons_only(lessons: LessonStore) -> None:
    one, other, third = many(3)
    await added(lessons, one, other, third)
    current = await promote(lessons, one)
    await remove(lessons, await promote(lessons, other))
    found = await lessons.copies([one.id, other.id, third.id, UNKNOWN, "nonsense"])
    assert found == {one.id: promoted_copy(current, at=LATER)}
    assert await lessons.copies([]) == {}


async def test_an_edit_puts_another_copy_in_place(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    first = await promote(lessons, before)
    await lessons.put_vectors([embedded(first)])
    second = await promote(lessons, first, title="Another title")
    assert await lessons.copies([before.id]) == {before.id: promoted_copy(second, at=LATER)}
    (delta,) = await followed(lessons)
    assert list(delta.promoted) == [CatalogItem(copy=promoted_copy(second, at=LATER), vectors=None)]
    assert (delta.revision, list(delta.removed)) == (2, [])


async def test_the_revision_moves_with_the_copies_and_with_nothing_else(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    assert await lessons.revision() == 0
    current = await promote(lessons, before)
    assert await lessons.revision() == 1
    back = msgspec.structs.replace(current, status=Status.PENDING_REVIEW)
    assert await lessons.change(LessonChange(lesson=back, expected=current, log=[log_entry()]))
    assert await lessons.revision() == 1
    gone = await remove(lessons, back)
    assert await lessons.revision() == 2
    rejected = msgspec.structs.replace(gone, status=Status.REJECTED)
    change = LessonChange(lesson=rejected, expected=gone, log=[log_entry()], deletes_copy=True)
    assert await lessons.change(change)
    assert await lessons.revision() == 2


async def test_a_delta_says_what_came_and_what_went(lessons: LessonStore) -> None:
    one, other, third = many(3)
    await added(lessons, one, other, third)
    current = await promote(lessons, one)
    gone = await promote(lessons, other)
    since = await lessons.revision()
    await remove(lessons, gone)
    newest = await promote(lessons, third)
    (delta,) = await followed(lessons, since)
    assert [item.copy for item in delta.promoted] == [promoted_copy(newest, at=LATER)]
    assert (list(delta.removed), delta.revision, delta.complete) == ([other.id], 4, True)
    (whole,) = await followed(lessons)
    assert {item.copy.id for item in whole.promoted} == {current.id, newest.id}


async def test_without_a_change_the_delta_is_empty(lessons: LessonStore) -> None:
    assert await lessons.changes_since(0, "three", 10) == CatalogDelta(revision=0, promoted=[], removed=[])
    await added(lessons, lesson())
    await promote(lessons, lesson())
    assert await lessons.changes_since(1, "three", 10) == CatalogDelta(revision=1, promoted=[], removed=[])


async def test_a_revision_that_the_store_does_not_have_is_answered_with_its_own(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    await promote(lessons, lesson())
    for since in (2, 7):
        assert await lessons.changes_since(since, "three", 10) == CatalogDelta(revision=1, promoted=[], removed=[])


async def test_what_came_back_is_no_longer_gone(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    again = await promote(lessons, await remove(lessons, await promote(lessons, before)))
    for since in range(3):
        (delta,) = await followed(lessons, since)
        assert ([item.copy for item in delta.promoted], list(delta.removed)) == ([promoted_copy(again, at=LATER)], [])
    gone = await remove(lessons, again)
    for since in range(4):
        (delta,) = await followed(lessons, since)
        assert (list(delta.promoted), list(delta.removed)) == ([], [gone.id])


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_from_any_revision_on_the_deltas_lead_to_the_same_catalog(lessons: LessonStore, limit: int) -> None:
    chance = random.Random(limit)
    current = {one.id: one for one in many(5)}
    await added(lessons, *current.values())
    catalogs: list[dict[str, PromotedLesson]] = [{}]
    for _ in range(12):
        before = current[chance.choice(list(current))]
        is_promoted = before.status is Status.PROMOTED
        change = removal(before) if is_promoted and chance.random() < 0.5 else promotion(before)
        assert await lessons.change(change)
        current[before.id] = change.lesson
        catalogs.append(await lessons.copies(list(current)))
    assert await lessons.revision() == 12
    for since, known in enumerate(catalogs):
        deltas = await followed(lessons, since, limit)
        assert deltas[-1].revision == 12
        assert caught_up(known, deltas) == catalogs[-1]


async def test_vectors_are_found_by_their_embedder(lessons: LessonStore) -> None:
    one, other = many(2)
    await added(lessons, one, other)
    one, other = await promote(lessons, one), await promote(lessons, other)
    mine, theirs = embedded(one), embedded(one, embedder="Three", dimension=2, count=3)
    await lessons.put_vectors([mine, theirs, embedded(other)])
    (delta,) = await followed(lessons, embedder="Three")
    assert {item.copy.id: item.vectors for item in delta.promoted} == {one.id: theirs.vectors, other.id: None}
    assert sorted(await lessons.embedders()) == [("Three", 2), ("three", 3)]
    await lessons.forget_vectors(keep="three")
    assert list(await lessons.embedders()) == [("three", 3)]
    (delta,) = await followed(lessons)
    assert {item.copy.id: item.vectors for item in delta.promoted} == {
        one.id: mine.vectors,
        other.id: vectors(other.id),
    }


async def test_storing_vectors_moves_no_revision_and_may_be_repeated(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    current = await promote(lessons, lesson())
    for _ in range(2):
        await lessons.put_vectors([embedded(current)])
    await lessons.put_vectors([])
    (delta,) = await followed(lessons)
    assert [item.vectors for item in delta.promoted] == [vectors()]
    assert await lessons.revision() == 1


async def test_vectors_go_with_their_copy(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    current = await promote(lessons, lesson())
    await lessons.put_vectors([embedded(current), embedded(current, embedder="another")])
    gone = await remove(lessons, current)
    assert list(await lessons.embedders()) == []
    await promote(lessons, gone)
    (delta,) = await followed(lessons)
    assert [item.vectors for item in delta.promoted] == [None]


async def test_vectors_of_what_is_not_promoted_are_not_kept(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    gone = await promote(lessons, lesson())
    await remove(lessons, gone)
    await lessons.put_vectors([embedded(gone), embedded(promoted(id=UNKNOWN))])
    assert list(await lessons.embedders()) == []


async def test_vectors_of_an_earlier_copy_do_not_take_the_place_of_the_present_ones(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    old = await promote(lessons, lesson())
    new = await promote(lessons, old, title="Another title")
    await lessons.put_vectors([embedded(old)])
    (delta,) = await followed(lessons)
    assert [item.vectors for item in delta.promoted] == [None]
    await lessons.put_vectors([embedded(new, count=1)])
    await lessons.put_vectors([embedded(old)])
    (delta,) = await followed(lessons)
    assert [item.vectors for item in delta.promoted] == [embedded(new, count=1).vectors]


async def test_an_erased_lesson_leaves_nothing_behind(lessons: LessonStore) -> None:
    secret, other = many(2, body="A secret")
    kept = msgspec.json.encode([secret])
    await lessons.add([injected(secret)], request(answer=kept))
    await lessons.add([injected(other)], request("another", answer=msgspec.json.encode([other])))
    current = await promote(lessons, secret)
    await lessons.put_vectors([embedded(current)])
    entry = LogEntry(lesson_id=secret.id, event=Event.ERASED, at=LATER, actor="an admin", detail={})
    await lessons.erase(secret.id, entry)
    with pytest.raises(UnknownLesson):
        await lessons.get(secret.id)
    assert await everything(lessons) == [other]
    assert [found for found, _ in (await lessons.queue()).waiting] == [other]
    assert await lessons.copies([secret.id]) == {}
    assert list(await lessons.embedders()) == []
    (delta,) = await followed(lessons, 1)
    assert (list(delta.promoted), list(delta.removed), delta.revision) == ([], [secret.id], 2)
    assert await lessons.answered(request()) is None
    assert await lessons.answered(request("another")) is not None


async def test_a_lesson_that_was_never_promoted_is_erased_without_moving_the_revision(lessons: LessonStore) -> None:
    await added(lessons, lesson())
    await lessons.erase(lesson().id, log_entry(Event.ERASED))
    assert await lessons.revision() == 0
    assert await everything(lessons) == []


async def test_a_decision_on_an_erased_lesson_is_not_stored(lessons: LessonStore) -> None:
    before = lesson()
    await added(lessons, before)
    await lessons.erase(before.id, log_entry(Event.ERASED))
    assert not await lessons.change(promotion(before))
    assert await everything(lessons) == []
    assert await lessons.revision() == 0


async def test_pages_are_newest_first_and_end(lessons: LessonStore) -> None:
    new = many(7)
    await added(lessons, *new)
    for limit in (1, 2, 3, 6, 7, 8):
        assert await everything(lessons, limit=limit) == new[::-1]
    assert (await lessons.page(LessonFilter(), 7, None)).next_cursor is None


async def test_cursors_stay_where_they_are_while_lessons_are_added_and_decided(lessons: LessonStore) -> None:
    new = many(9)
    await added(lessons, *new[:4])
    seen: list[str] = []
    cursor: str | None = None
    for fresh in new[4:]:
        page = await lessons.page(LessonFilter(), 1, cursor)
        seen.extend(one.id for one in page.lessons)
        cursor = page.next_cursor
        await added(lessons, fresh)
        await promote(lessons, fresh)
        if cursor is None:
            break
    assert seen == [one.id for one in new[3::-1]]


@pytest.mark.parametrize("cursor", ["nonsense", "", "-1", "é", "\U0001f9ea", "MQ==", "before-x", "A" * 5000, "null"])
async def test_a_cursor_that_is_none_of_ours_is_refused(lessons: LessonStore, cursor: str) -> None:
    await added(lessons, *many(3))
    with pytest.raises(InvalidInput):
        await lessons.page(LessonFilter(), 2, cursor)
    with pytest.raises(InvalidInput):
        await lessons.queue(2, cursor)


async def test_pages_and_the_review_queue_refuse_each_others_cursors(lessons: LessonStore) -> None:
    await added(lessons, *many(3))
    of_page = (await lessons.page(LessonFilter(), 1, None)).next_cursor
    of_queue = (await lessons.queue(1)).next_cursor
    with pytest.raises(InvalidInput):
        await lessons.page(LessonFilter(), 2, of_queue)
    with pytest.raises(InvalidInput):
        await lessons.queue(2, of_page)


async def test_all_filters_hold_together(lessons: LessonStore) -> None:
    one, other, third, fourth = many(4)
    other = msgspec.structs.replace(other, bin=Bin.KNOWLEDGE)
    third = msgspec.structs.replace(third, tags=("billing", "uploads"))
    await added(lessons, one, other, third, fourth)
    fourth = await promote(lessons, fourth)
    assert await everything(lessons, LessonFilter(bin=Bin.KNOWLEDGE)) == [other]
    assert await everything(lessons, LessonFilter(status=Status.PROMOTED)) == [fourth]
    assert await everything(lessons, LessonFilter(tag="billing")) == [third]
    both = LessonFilter(status=Status.PENDING_REVIEW, bin=Bin.SKILLS, tag="uploads", text="storage")
    assert await everything(lessons, both, limit=1) == [third, one]
    assert await everything(lessons, LessonFilter(tag="billing", bin=Bin.KNOWLEDGE)) == []


@pytest.mark.parametrize("tag", TAGS)
async def test_a_tag_is_found_exactly(lessons: LessonStore, tag: str) -> None:
    new_id = CountingIds(1)
    await added(lessons, *(lesson(id=new_id(), tags=("first", one)) for one in TAGS))
    assert [found.tags for found in await everything(lessons, LessonFilter(tag=tag))] == [("first", tag)]
    assert len(await everything(lessons, LessonFilter(tag="first"))) == len(TAGS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("STRASSE", ["title"]),
        ("straße", ["title"]),
        ("ﬁle", ["body"]),
        ("FILE", ["body"]),
        ("100%", ["title"]),
        ("0%_", ["title"]),
        ("%", ["title"]),
        ("_", ["title"]),
        ("\\", ["body"]),
        ("e", ["body", "title"]),
        ("nowhere", []),
    ],
)
async def test_text_is_found_in_title_or_body_whatever_its_case_and_form(
    lessons: LessonStore, text: str, found: list[str]
) -> None:
    new_id = CountingIds(1)
    await added(
        lessons,
        lesson(id=new_id(), title="Die Straße 100%_", body="x", source="title"),
        lesson(id=new_id(), title="x", body="A file, a \\ and more", source="body"),
    )
    assert [one.source for one in await everything(lessons, LessonFilter(text=text))] == found
