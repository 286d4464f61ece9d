"""What a report makes due is in the outbox with it."""

from __future__ import annotations

from datetime import timedelta

from application.feedback.ports import EscalationFilter, FeedbackStore, Outbox
from domain.feedback.escalation import Path, PathMode, State
from domain.feedback.metrics import Counters
from tests.contract.feedback_store.stories import recorded
from tests.fakes.clock import START
from tests.fakes.examples import outcome_of, policy


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
