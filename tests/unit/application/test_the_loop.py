"""The whole loop without a network or a disk: learn, match, apply, fail, escalate, decide."""

from __future__ import annotations

import pytest

from adapters.targets.learner_targets import LearnerHumanReview, LearnerRemediation
from domain.errors import NoMatch
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.feedback.escalation import PathMode, State
from domain.incorporator.match import StrategyMode
from domain.incorporator.rules import DslRule
from domain.learner.lesson import Bin, Decision, Status
from tests.fakes.examples import query, report
from tests.fakes.system import Feedback, Incorporator

RULE = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="retry uploads")
PAYLOAD = {"action": "retry_with_backoff", "instruction_template": "Retry {operation} with backoff"}


class Loop:
    """One process with everything in it, and one promoted lesson."""

    def __init__(self, mode: PathMode, threshold: int = 3) -> None:
        self.incorporator = Incorporator(RULE, mode=StrategyMode.DSL_ONLY)
        self.learner = self.incorporator.learner
        self.feedback = Feedback(
            threshold=threshold,
            mode=mode,
            human=LearnerHumanReview(escalate=self.learner.escalate),
            auto=LearnerRemediation(escalate=self.learner.escalate),
            clock=self.learner.clock,
            store=self.incorporator.store,
            outbox=self.incorporator.outbox,
        )

    async def step(self, flag: ResultFlag) -> FeedbackEntry:
        """One step of an agent: it asks, does as it is told, and reports how that went."""
        outcome = await self.incorporator.invoke(query())
        return await self.feedback.report(report(flag, outcome_id=outcome.id))

    async def statuses(self) -> list[State]:
        return [one.state for one in await self.feedback.escalations()]


async def test_a_lesson_that_keeps_failing_comes_back_to_review_and_still_matches() -> None:
    loop = Loop(PathMode.HUMAN_ONLY)
    lesson = await loop.learner.promoted(title="Retry uploads", dsl_payload=PAYLOAD)
    await loop.step(ResultFlag.SUCCESS)
    for _ in range(2):
        await loop.step(ResultFlag.FAILURE)
    assert (await loop.learner.store.get(lesson.id)).status is Status.PROMOTED
    last = await loop.step(ResultFlag.FAILURE)
    assert (await loop.learner.store.get(lesson.id)).status is Status.PENDING_REVIEW
    ((_, why),) = (await loop.learner.store.queue()).waiting
    assert why.flag is not None
    assert (why.flag.feedback_entry_id, why.flag.failure_count) == (last.id, 3)
    assert why.reason == "3 failed outcomes in review round 1"
    assert why.flag.feedback["success"] == 1
    await loop.step(ResultFlag.FAILURE)
    assert await loop.statuses() == [State.DELIVERED, State.DELIVERED]


async def test_after_a_persons_decision_failures_are_counted_from_the_start() -> None:
    loop = Loop(PathMode.HUMAN_ONLY)
    lesson = await loop.learner.promoted(title="Retry uploads", dsl_payload=PAYLOAD)
    for _ in range(3):
        await loop.step(ResultFlag.FAILURE)
    await loop.learner.decided(await loop.learner.store.get(lesson.id), Decision.EDIT, title="Retry uploads later")
    assert [(await loop.step(ResultFlag.FAILURE)).failures_seen for _ in range(2)] == [1, 2]
    assert len(await loop.statuses()) == 1
    await loop.step(ResultFlag.FAILURE)
    assert await loop.statuses() == [State.DELIVERED, State.DELIVERED]
    assert (await loop.feedback.metrics(lesson.id)).overall.failure == 6


async def test_a_report_of_an_earlier_round_does_not_touch_what_was_decided_since() -> None:
    loop = Loop(PathMode.BOTH, threshold=1)
    lesson = await loop.learner.promoted(title="Retry uploads", dsl_payload=PAYLOAD)
    outcome = await loop.incorporator.invoke(query())
    edited = await loop.learner.decided(lesson, Decision.EDIT, title="Retry uploads later")
    await loop.feedback.report(report(outcome_id=outcome.id))
    assert await loop.statuses() == [State.SUPERSEDED, State.SUPERSEDED]
    assert await loop.learner.store.get(lesson.id) == edited
    assert (await loop.incorporator.invoke(query())).match_result.matched_entity_id == lesson.id


async def test_the_auto_path_takes_a_failing_lesson_away_at_once() -> None:
    loop = Loop(PathMode.AUTO_ONLY, threshold=1)
    lesson = await loop.learner.promoted(title="Retry uploads", dsl_payload=PAYLOAD)
    await loop.step(ResultFlag.FAILURE)
    assert (await loop.learner.store.get(lesson.id)).status is Status.DISABLED
    with pytest.raises(NoMatch):
        await loop.incorporator.invoke(query())
    assert loop.incorporator.misses.noted == ["flaky_upload"]


async def test_both_paths_take_it_away_and_bring_it_to_review() -> None:
    loop = Loop(PathMode.BOTH, threshold=1)
    lesson = await loop.learner.promoted(title="Retry uploads", dsl_payload=PAYLOAD)
    await loop.step(ResultFlag.FAILURE)
    assert await loop.statuses() == [State.DELIVERED, State.DELIVERED]
    waiting = await loop.learner.store.get(lesson.id)
    assert waiting.status is Status.PENDING_REVIEW
    with pytest.raises(NoMatch):
        await loop.incorporator.invoke(query())
    await loop.learner.decided(waiting, Decision.APPROVE)
    assert (await loop.step(ResultFlag.SUCCESS)).review_round == 2


async def test_an_object_store_that_is_away_makes_no_report_fail_and_is_made_up_for() -> None:
    loop = Loop(PathMode.HUMAN_ONLY, threshold=1)
    lesson = await loop.learner.promoted(title="Retry uploads", dsl_payload=PAYLOAD)
    outcome = await loop.incorporator.invoke(query())
    loop.learner.store.away = True
    entry = await loop.feedback.report(report(outcome_id=outcome.id))
    assert entry.failures_seen == 1
    loop.learner.store.away = False
    (waiting,) = await loop.feedback.escalations()
    assert waiting.state is State.PENDING
    assert "away" in (waiting.last_error or "")
    await loop.feedback.outbox.claim(
        waiting.path, "this process", waiting.next_attempt_at, loop.learner.clock.advance(60), 1
    )
    assert (await loop.feedback.deliver(waiting)).state is State.DELIVERED
    assert (await loop.learner.store.get(lesson.id)).status is Status.PENDING_REVIEW
