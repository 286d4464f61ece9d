"""The use cases put together on fakes, as the composition root does it on real adapters."""

from __future__ import annotations

from typing import Any

from application.feedback.deliver import DeliverEscalation, Dispatcher
from application.feedback.escalate import Escalate
from application.feedback.ports import EscalationFilter, EscalationTarget, RecordSelection
from application.feedback.queries import ReadMetrics
from application.feedback.report import Report, UpdateFeedback
from application.incorporator.apply import Apply
from application.incorporator.dsl_matcher import DslMatcher
from application.incorporator.explain import ExplainMatch
from application.incorporator.invoke import Invoke
from application.incorporator.llm_matcher import LlmMatcher
from application.incorporator.match import Match
from application.incorporator.record import RecordFeedback
from application.learner.catalog import Catalog
from application.learner.embed import EmbedLessons
from application.learner.escalations import EscalateLesson
from application.learner.inject import InjectLessons
from application.learner.review import EraseLesson, ReviewCommand, ReviewLesson
from application.learner.search import SearchKind, SearchLessons
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.feedback.escalation import Escalation, EscalationPolicy, Path, PathMode
from domain.incorporator.match import FallbackReason, StrategyMode
from domain.incorporator.rules import DslRule
from domain.learner.lesson import Decision, Lesson, LessonEdit
from tests.fakes.clock import CountingIds, FakeClock
from tests.fakes.examples import draft, entry, report
from tests.fakes.fake_feedback_store import FakeFeedbackStore
from tests.fakes.fake_lesson_files import FakeLessonFiles
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.fakes.fake_misses import NotedMisses
from tests.fakes.fake_outbox import FakeOutbox
from tests.fakes.fake_rules import FakeRules
from tests.fakes.fake_target import ScriptedTarget
from tests.fakes.fake_watch import FakeWatch
from tests.fakes.scripted_llm import ScriptedLlm
from tests.fakes.unsteady import CountingTextIndex, UnsteadyEmbedder, UnsteadyVectorIndex

FLOOR = 0.3
SECONDS = 20.0


class Learner:
    """The Learner. With another one's `store` it is a second process over the same object store."""

    def __init__(
        self,
        *,
        store: FakeLessonStore | None = None,
        embedder: UnsteadyEmbedder | None = None,
        vectors: UnsteadyVectorIndex | None = None,
        texts: CountingTextIndex | None = None,
        files: FakeLessonFiles | None = None,
        kind: SearchKind = SearchKind.HYBRID,
    ) -> None:
        self.clock = FakeClock()
        self.new_id = CountingIds(0xA)
        self.store = store or FakeLessonStore()
        self.watch = FakeWatch()
        self.vectors = vectors or UnsteadyVectorIndex()
        self.texts = texts or CountingTextIndex()
        self.files = files or FakeLessonFiles()
        self.embedder = embedder or UnsteadyEmbedder()
        self.embed = EmbedLessons(embedder=self.embedder)
        self.catalog = Catalog(
            store=self.store,
            watch=self.watch,
            vectors=self.vectors,
            texts=self.texts,
            files=self.files,
            embedder=self.embedder,
            embed=self.embed,
        )
        self.search = SearchLessons(
            catalog=self.catalog,
            store=self.store,
            vectors=self.vectors,
            texts=self.texts,
            embedder=self.embedder,
            kind=kind,
        )
        self.inject = InjectLessons(store=self.store, clock=self.clock, new_id=self.new_id)
        self.review = ReviewLesson(store=self.store, catalog=self.catalog, embed=self.embed, clock=self.clock)
        self.erase = EraseLesson(store=self.store, catalog=self.catalog, clock=self.clock)
        self.escalate = EscalateLesson(store=self.store, catalog=self.catalog, clock=self.clock)

    async def injected(self, **fields: Any) -> Lesson:
        """A lesson that awaits review."""
        (lesson,) = await self.inject([draft(**fields)], actor="an agent")
        return lesson

    async def promoted(self, **fields: Any) -> Lesson:
        """A lesson that was approved a second after the one before."""
        self.clock.advance(1)
        return await self.decided(await self.injected(**fields), Decision.APPROVE)

    async def decided(self, lesson: Lesson, decision: Decision, **edit: Any) -> Lesson:
        """The lesson after a person's decision."""
        command = ReviewCommand(
            lesson_id=lesson.id, decision=decision, actor="a person", edit=LessonEdit(**edit) if edit else None
        )
        return await self.review(command)


class Incorporator:
    """The Incorporator, on a Learner of its own unless it is given one."""

    def __init__(
        self,
        *rules: DslRule,
        mode: StrategyMode = StrategyMode.DSL_THEN_LLM,
        llm: ScriptedLlm | None = None,
        learner: Learner | None = None,
        floor: float = FLOOR,
        llm_timeout_s: float = SECONDS,
    ) -> None:
        self.learner = learner or Learner()
        self.clock = self.learner.clock
        self.new_id = CountingIds(0xB)
        self.llm = llm or ScriptedLlm("I would rather not say.")
        self.rules = FakeRules(*rules)
        self.outbox = FakeOutbox()
        self.store = FakeFeedbackStore(outbox=self.outbox, new_id=CountingIds(0xE))
        self.misses = NotedMisses()
        floors = {**dict.fromkeys(FallbackReason, 0.0), FallbackReason.LLM_UNAVAILABLE: floor}
        self.dsl_matcher = DslMatcher(rules=self.rules, search=self.learner.search, catalog=self.learner.catalog)
        self.llm_matcher = LlmMatcher(search=self.learner.search, llm=self.llm, floors=floors)
        self.match = Match(
            mode=mode,
            dsl_matcher=self.dsl_matcher,
            llm_matcher=self.llm_matcher,
            catalog=self.learner.catalog,
            llm_timeout_s=llm_timeout_s,
        )
        self.explain = ExplainMatch(
            mode=mode,
            dsl_matcher=self.dsl_matcher,
            llm_matcher=self.llm_matcher,
            catalog=self.learner.catalog,
            llm_timeout_s=llm_timeout_s,
        )
        self.apply = Apply(llm=self.llm, llm_timeout_s=llm_timeout_s, clock=self.clock, new_id=self.new_id)
        self.record = RecordFeedback(store=self.store, new_id=self.new_id)
        self.invoke = Invoke(
            match=self.match,
            apply=self.apply,
            record=self.record,
            catalog=self.learner.catalog,
            store=self.store,
            misses=self.misses,
            llm_timeout_s=llm_timeout_s,
        )


class Feedback:
    """Reports and escalations, on targets that do what a test wrote down for them."""

    def __init__(
        self,
        *,
        threshold: int = 1,
        mode: PathMode = PathMode.BOTH,
        human: EscalationTarget | None = None,
        auto: EscalationTarget | None = None,
        max_attempts: int = 12,
        poll_s: float = 1.0,
        clock: FakeClock | None = None,
        outbox: FakeOutbox | None = None,
        store: FakeFeedbackStore | None = None,
        owner: str = "this process",
    ) -> None:
        self.clock = clock or FakeClock()
        self.outbox = outbox or FakeOutbox()
        self.store = store or FakeFeedbackStore(outbox=self.outbox, new_id=CountingIds(0xE))
        self._selected = 0
        self.targets: dict[Path, EscalationTarget] = {
            Path.HUMAN: human or ScriptedTarget(name="human"),
            Path.AUTO: auto or ScriptedTarget(name="auto"),
        }
        self.policy = EscalationPolicy(
            threshold=threshold,
            mode=mode,
            targets={path: target.name for path, target in self.targets.items()},
            in_process=frozenset(path for path, target in self.targets.items() if target.in_process),
        )
        self.deliver = DeliverEscalation(
            outbox=self.outbox,
            targets=self.targets,
            clock=self.clock,
            owner=owner,
            max_attempts=max_attempts,
        )
        self.dispatcher = Dispatcher(
            outbox=self.outbox, deliver=self.deliver, clock=self.clock, owner=owner, poll_s=poll_s
        )
        self.escalate = Escalate(
            store=self.store,
            outbox=self.outbox,
            policy=self.policy,
            deliver=self.deliver,
            targets=self.targets,
            wake=self.dispatcher.wake,
            clock=self.clock,
            new_id=CountingIds(0xF),
            owner=owner,
        )
        self.report = Report(
            store=self.store, policy=self.policy, escalate=self.escalate, clock=self.clock, owner=owner
        )
        self.update = UpdateFeedback(store=self.store, clock=self.clock, owner=owner)
        self.metrics = ReadMetrics(store=self.store)

    async def selected(self, **fields: Any) -> FeedbackEntry:
        """A fresh selection of its own step, with its own outcome."""
        self._selected += 1
        new_id = CountingIds(0x1000 + self._selected)
        selection = entry(
            id=new_id(),
            transaction_log_ref=new_id(),
            **{"problem_solving_step_ref": f"step-{self._selected}", **fields},
        )
        await self.store.record(RecordSelection(entry=selection))
        return selection

    async def failed(self, of: FeedbackEntry | None = None) -> FeedbackEntry:
        """The entry after a reported failure; of a fresh selection unless one is given."""
        of = of or await self.selected()
        return await self.report(
            report(ResultFlag.FAILURE, problem_solving_step_ref=of.problem_solving_step_ref, session_id=of.session_id)
        )

    async def escalations(self) -> list[Escalation]:
        """All that are in the outbox, oldest first."""
        page = await self.outbox.page(EscalationFilter(), 10_000, None)
        return list(page.escalations)[::-1]
