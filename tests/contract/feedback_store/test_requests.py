"""Repeated selections and reports, and their answers that are kept."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import msgspec
import pytest

from application.feedback.ports import EntryFilter, EscalationFilter, FeedbackStore, Outbox, Reported
from application.incorporator.erase import as_shown
from domain.errors import AnswerErased, KeyReused, NoSelection, RequestInProgress
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.feedback.escalation import PathMode
from domain.feedback.metrics import counted, total
from tests.contract.adapters import Feedback
from tests.contract.feedback_store.stories import entries, everything, recorded
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import LESSON_ID, ODD, entry, outcome_of, policy, request, select
from tests.fakes.together import together


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


async def test_the_answers_that_show_an_erased_lesson_are_erased_and_their_keys_stay_taken(feedback: Feedback) -> None:
    store, found = feedback.store, entries(1_203)
    showing = msgspec.json.encode({"raw_payload": {"id": LESSON_ID, "body": "secret"}})
    naming = msgspec.json.encode({"lesson_skill_id": LESSON_ID, "selection_context": {"raw_payload": LESSON_ID}})
    secret = [request(f"secret {number}", answer=showing) for number in range(1_200)]
    await together(*(store.record(select(one, key)) for one, key in zip(found[1:], secret, strict=False)))
    await store.record(select(found[0], request("named", answer=naming)))
    await feedback.answers.erase_mentions(as_shown(LESSON_ID))
    assert await store.answered(request("named")) == naming
    replays = await together(*(store.record(select(found[-1], key)) for key in secret))
    assert {type(one) for one in replays} == {AnswerErased}
    with pytest.raises(AnswerErased):
        await store.answered(secret[0])
    with pytest.raises(KeyReused):
        await store.answered(request("secret 0", fingerprint="f2"))
    assert len(await everything(store)) == 1_201


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


async def test_a_request_behind_one_of_its_key_that_fails_is_carried_out_itself(store: FeedbackStore) -> None:
    one, other = await recorded(store, 2)
    unknown = entry(session_id="another session")
    bodies = [(unknown, "f1"), (unknown, "f2"), (one, "f3"), (other, "f4"), (one, "f3")]
    results = await together(
        *(store.report(outcome_of(of, request=request(fingerprint=fingerprint))) for of, fingerprint in bodies)
    )
    assert [type(each) for each in results] == [NoSelection, NoSelection, Reported, KeyReused, Reported]
    assert results[4] == Reported(entry=await store.get(one.id))
    assert [(await store.get(each.id)).usage_count for each in (one, other)] == [2, 1]
    with pytest.raises(KeyReused):
        await store.report(outcome_of(unknown, request=request(fingerprint="f1")))


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


async def test_old_answers_can_be_forgotten(store: FeedbackStore) -> None:
    one, other = entries(2)
    await store.record(select(one, request("old")))
    later = START + timedelta(hours=2)
    await store.record(select(other, request("new", at=later)))
    await store.forget_requests(START + timedelta(hours=1))
    assert await store.answered(request("old")) is None
    assert await store.answered(request("new", at=later)) == request().answer
    assert len(await everything(store)) == 2
