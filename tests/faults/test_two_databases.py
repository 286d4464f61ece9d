"""Feedback database and object store fail apart, and still tell one story."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path as FilePath

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from application.feedback.deliver import LEASE_S
from application.feedback.ports import EscalationFilter, RecordSelection
from application.learner.review import ReviewCommand
from domain.errors import DecisionNotAllowed, DeliveryFailed, StoreUnavailable
from domain.feedback.entry import FeedbackEntry
from domain.feedback.escalation import Escalation, Path, State
from domain.learner.lesson import Decision, LessonEdit, Status
from domain.learner.log import Event, LogEntry
from tests.fakes.examples import draft, entry, report
from tests.faults import machines
from tests.faults.story import Condition, Story
from tests.faults.tally import LONG, Count, Tally

pytestmark = pytest.mark.faults

EXAMPLES, STEPS = (400, 30) if LONG else (80, 20)
EFFECT = {Path.HUMAN: Event.RUNTIME_FAILURE_FLAGGED, Path.AUTO: Event.RUNTIME_FAILURE_DISABLED}
BEYOND_EVERY_WAIT_S = 400.0


class Model:
    """What a lesson's log must have led to."""

    def __init__(self, rounds: dict[str, int]) -> None:
        self._rounds = rounds
        self.status, self.round, self.has_copy, self._by_escalation = Status.PENDING_REVIEW, 0, False, False

    def follow(self, log: Sequence[LogEntry]) -> None:
        for one in log:
            match one.event:
                case Event.APPROVED | Event.EDITED:
                    self.status, self.has_copy, self._by_escalation = Status.PROMOTED, True, False
                    self.round += 1
                case Event.REJECTED | Event.DISABLED:
                    self.status = Status.REJECTED if one.event is Event.REJECTED else Status.DISABLED
                    self.has_copy, self._by_escalation = False, False
                case Event.RUNTIME_FAILURE_FLAGGED | Event.RUNTIME_FAILURE_DISABLED:
                    self._escalated(one)
                case _:
                    pass

    def _escalated(self, one: LogEntry) -> None:
        decided = self.status is Status.REJECTED or (self.status is Status.DISABLED and not self._by_escalation)
        assert not decided, "a person's decision did not win"
        assert self._rounds[str(one.detail["feedback_entry_id"])] == self.round, "an escalation of another round"
        if one.event is Event.RUNTIME_FAILURE_FLAGGED:
            self.status, self._by_escalation = Status.PENDING_REVIEW, False
            return
        if self.status is Status.PROMOTED:
            self.status, self._by_escalation = Status.DISABLED, True
        self.has_copy = False


class TwoDatabases(RuleBasedStateMachine):
    portal: BlockingPortal
    faults = 0
    reports = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="memorygrid-story-")
        self.story = self.portal.call(self._story)
        [lesson] = self.portal.call(lambda: self.story.inject([draft()], actor="an agent"))
        self.lesson_id = lesson.id
        self.rounds: dict[str, int] = {}
        self.decide(Decision.APPROVE)

    async def _story(self) -> Story:
        return Story(FilePath(self.folder.name))

    @rule(decision=st.sampled_from(Decision))
    def decide(self, decision: Decision) -> None:
        edit = LessonEdit(title="Another title") if decision is Decision.EDIT else None
        command = ReviewCommand(lesson_id=self.lesson_id, decision=decision, actor="a person", edit=edit)
        with suppress(DecisionNotAllowed, StoreUnavailable):
            self.portal.call(self.story.review, command)

    @rule()
    def fail(self) -> None:
        """A selection of the lesson fails; either database may be away by the time that is reported."""
        self.portal.call(self._fail)

    async def _fail(self) -> None:
        lesson = await self.story.lessons_as_they_are.get(self.lesson_id)
        selection = self._selection(lesson.review_round)
        with suppress(StoreUnavailable):
            await self.story.store.record(RecordSelection(entry=selection))
            self.rounds[selection.id] = lesson.review_round
            step, session = selection.problem_solving_step_ref, selection.session_id
            await self.story.report(report(problem_solving_step_ref=step, session_id=session))

    def _selection(self, review_round: int) -> FeedbackEntry:
        type(self).reports += 1
        return entry(
            id=self.story.new_id(),
            transaction_log_ref=self.story.new_id(),
            lesson_skill_id=self.lesson_id,
            review_round=review_round,
            problem_solving_step_ref=f"step-{self.reports}",
        )

    @rule(condition=st.sampled_from(Condition))
    def object_store_becomes(self, condition: Condition) -> None:
        type(self).faults += condition is not Condition.WELL
        self.story.lessons_fate.condition = condition

    @rule(condition=st.sampled_from(Condition))
    def feedback_database_becomes(self, condition: Condition) -> None:
        type(self).faults += condition is not Condition.WELL
        self.story.feedback_fate.condition = condition

    @rule()
    def crash(self) -> None:
        type(self).faults += 1
        self.story.crash()

    @rule(order=st.permutations(list(Path)), waited_s=st.sampled_from([0.0, 20.0, BEYOND_EVERY_WAIT_S]))
    def dispatch(self, order: list[Path], waited_s: float) -> None:
        """A round of the dispatcher, in which either path may come first."""
        self.story.clock.advance(waited_s)
        for path in order:
            with suppress(StoreUnavailable):
                self.portal.call(self._dispatch, path)

    async def _dispatch(self, path: Path) -> None:
        now = self.story.clock.now()
        until = now + timedelta(seconds=LEASE_S)
        for one in await self.story.outbox.claim(path, self.story.owner, now, until, 100):
            with suppress(StoreUnavailable):
                await self.story.deliver(one)

    @rule()
    def replay(self) -> None:
        """Everything that was delivered before arrives at its target once more."""
        self.portal.call(self._replay)

    async def _replay(self) -> None:
        with suppress(StoreUnavailable, DeliveryFailed):
            for one in await self._escalations():
                if one.state is State.DELIVERED:
                    assert await self.story.targets[one.path].deliver(one) is State.DELIVERED

    async def _escalations(self) -> Sequence[Escalation]:
        return (await self.story.outbox.page(EscalationFilter(), 10_000, None)).escalations

    def teardown(self) -> None:
        """Both are well again: what is due is delivered, and the books agree with the model."""
        self.story.lessons_fate.condition = self.story.feedback_fate.condition = Condition.WELL
        for _ in range(2):
            self.dispatch(list(Path), BEYOND_EVERY_WAIT_S)
        try:
            self.portal.call(self._compare)
        finally:
            self.portal.call(self.story.aclose)
            self.folder.cleanup()

    async def _compare(self) -> None:
        escalations = await self._escalations()
        failed = [await self.story.store.get(entry_id) for entry_id in self.rounds]
        due = {(one.id, path) for one in failed if one.usage_count > 1 for path in Path}
        assert {(one.entry_id, one.path) for one in escalations} == due
        assert len(escalations) == len(due)
        log = await self.story.lessons.log(self.lesson_id)
        had_effect = [(one.detail.get("feedback_entry_id"), one.event) for one in log if one.actor == "escalation"]
        assert len(set(had_effect)) == len(had_effect), "one escalation had two effects"
        for one in escalations:
            assert one.state in (State.DELIVERED, State.SUPERSEDED), one
            assert ((one.entry_id, EFFECT[one.path]) in had_effect) is (one.state is State.DELIVERED), one
        model = Model(self.rounds)
        model.follow(log)
        lesson = await self.story.lessons.get(self.lesson_id)
        copies = await self.story.lessons.copies([self.lesson_id])
        assert (lesson.status, lesson.review_round) == (model.status, model.round)
        assert bool(copies) is model.has_copy
        self._compare_both_paths(log, lesson.status, has_copy=bool(copies))

    @staticmethod
    def _compare_both_paths(log: Sequence[LogEntry], status: Status, *, has_copy: bool) -> None:
        """Where both effects came and nobody decided since, they end the same whichever came first."""
        since: set[Event] = set()
        for one in log:
            since = since | {one.event} if one.actor == "escalation" else set()
        if since == set(EFFECT.values()):
            assert (status, has_copy) == (Status.PENDING_REVIEW, False)


def test_decisions_flags_disables_crashes_and_replays_in_any_order_end_as_the_model_says(tally: Tally) -> None:
    with start_blocking_portal() as portal:
        machine: type[TwoDatabases] = type("Machine", (TwoDatabases,), {"portal": portal})
        machines.run(machine, examples=EXAMPLES, steps=STEPS)
    tally.add(
        Count(
            promise="5 Two databases, one story",
            fault="either database away, answers lost, crashes, replays, against a model",
            trials=machine.reports,
            faults=machine.faults,
        )
    )
