"""The service as a library: the use cases under the names that users are promised.

    deps = build_dependencies(Settings())
    match = await deps.matching_engine.match(query)

Nothing needs to be opened first: databases, indices and clients open themselves with their first use, for the event
loop that runs then. `await deps.aclose()`, or `async with deps`, closes them. What is passed in is checked as a body of
the HTTP API is: `InvalidInput` says what is wrong, and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from application.feedback.escalate import Escalate
from application.feedback.report import UpdateFeedback
from application.incorporator.apply import Apply
from application.incorporator.erase import EraseLessonAndAnswers
from application.incorporator.match import Match
from application.incorporator.record import RecordFeedback
from application.learner.inject import InjectLessons
from application.learner.ports import LessonFilter, LessonStore, VectorIndex
from application.learner.review import ReviewCommand, ReviewLesson
from application.learner.search import SearchLessons
from application.shared.ports import Embedder, Llm
from domain.feedback.entry import FailureClass, FeedbackEntry, OutcomeReport, ResultFlag
from domain.feedback.escalation import Escalation
from domain.incorporator.match import MatchResult
from domain.incorporator.outcome import ApplierOutcome
from domain.incorporator.query import QueryInput
from domain.learner.lesson import Bin, Decision, Lesson, LessonDraft, LessonEdit, PromotedLesson
from domain.learner.log import QueuedLesson
from domain.learner.ranking import SearchHit
from domain.values import JsonObject
from entrypoints.apps import close_incorporator
from entrypoints.container import IncorporatorContainer
from entrypoints.http.learner import LessonParameters, SearchParameters
from entrypoints.http.lesson_wire import DraftBody, EditBody
from entrypoints.inputs import check, checked, fields_of
from entrypoints.settings import Settings

_ACTOR = "library"


class MatchingEngine:
    def __init__(self, match: Match) -> None:
        self._match = match

    async def match(self, query: QueryInput) -> MatchResult | None:
        """The promoted lesson that applies, or None. Raises `InvalidInput`."""
        return await self._match(checked(query, QueryInput, "query"))


class ApplierService:
    def __init__(self, apply: Apply) -> None:
        self._apply = apply

    async def apply(self, match: MatchResult, query: QueryInput) -> ApplierOutcome:
        """The concrete action and instruction for a match. Raises `InvalidInput`."""
        return await self._apply(match, checked(query, QueryInput, "query"))


class FeedbackRecorder:
    def __init__(self, record: RecordFeedback) -> None:
        self._record = record

    async def record_selection(self, query: QueryInput, match: MatchResult, outcome: ApplierOutcome) -> None:
        """Stores the selection as a pending feedback entry. Raises `InvalidInput`."""
        await self._record(checked(query, QueryInput, "query"), match, outcome)


class FeedbackUpdater:
    def __init__(self, update: UpdateFeedback) -> None:
        self._update = update

    async def update(
        self,
        problem_solving_step_ref: str,
        session_id: str,
        result_flag: ResultFlag,
        *,
        outcome_id: str | None = None,
        failure_class: FailureClass = FailureClass.LESSON,
        detail: JsonObject | None = None,
    ) -> FeedbackEntry:
        """Records what became of the step's latest selection (or of exactly `outcome_id`).

        Raises `NoSelection`, `InvalidInput`.
        """
        report = OutcomeReport(
            problem_solving_step_ref=problem_solving_step_ref,
            session_id=session_id,
            result_flag=result_flag,
            outcome_id=outcome_id,
            failure_class=failure_class,
            detail=detail,
        )
        return await self._update(checked(report, OutcomeReport, "report"))


class ThresholdMonitor:
    def __init__(self, escalate: Escalate) -> None:
        self._escalate = escalate

    async def check_and_escalate(self, entry: FeedbackEntry) -> Sequence[Escalation]:
        """Escalates where the entry's last report makes it due; each target is attempted once before this returns."""
        return await self._escalate.check(entry)


class PromotedStore:
    """One bin of promoted lessons: the Skills store or the Knowledge Base."""

    def __init__(self, bin: Bin, search: SearchLessons, store: LessonStore) -> None:
        self._bin = bin
        self._search = search
        self._store = store

    async def get(self, lesson_id: str) -> PromotedLesson | None:
        copy = (await self._store.copies([lesson_id])).get(lesson_id)
        return copy if copy is not None and copy.bin is self._bin else None

    async def search(self, query: str, top_k: int = 10) -> list[SearchHit]:
        """The best `top_k` hits of this bin, 1 to 100. Raises `InvalidInput`."""
        check({"q": query, "top_k": top_k}, SearchParameters, "search")
        return [one.hit for one in (await self._search(query, self._bin, top_k)).found]


class ReviewQueue:
    def __init__(self, store: LessonStore) -> None:
        self._store = store

    async def list(self) -> Sequence[tuple[Lesson, QueuedLesson]]:
        """The lessons that await review, longest waiting first, each with the reason."""
        page = await self._store.queue()
        waiting = list(page.waiting)
        while page.next_cursor is not None:
            page = await self._store.queue(cursor=page.next_cursor)
            waiting += page.waiting
        return waiting


class ReviewService:
    """Injecting lessons and deciding on them."""

    def __init__(
        self, inject: InjectLessons, review: ReviewLesson, erase: EraseLessonAndAnswers, store: LessonStore
    ) -> None:
        self._inject = inject
        self._review = review
        self._erase = erase
        self._store = store

    async def inject(self, *drafts: LessonDraft) -> list[Lesson]:
        """Stores the drafts as lessons that await review, all or none. Raises `InvalidInput`."""
        checked_drafts = [check(fields_of(one, LessonDraft), DraftBody, "draft").draft() for one in drafts]
        return await self._inject(checked_drafts, actor=_ACTOR)

    async def list(self, where: LessonFilter | None = None, limit: int = 100) -> Sequence[Lesson]:
        """The newest `limit` lessons that fulfil the conditions, 1 to 1,000. Raises `InvalidInput`."""
        check({"limit": limit}, LessonParameters, "list")
        return (await self._store.page(where or LessonFilter(), limit, None)).lessons

    async def approve(self, lesson_id: str, *, reviewer: str | None = None, version: int | None = None) -> Lesson:
        return await self._decide(lesson_id, Decision.APPROVE, reviewer, version)

    async def edit(
        self, lesson_id: str, edit: LessonEdit, *, reviewer: str | None = None, version: int | None = None
    ) -> Lesson:
        """Edits and promotes. Raises `InvalidInput`."""
        return await self._decide(lesson_id, Decision.EDIT, reviewer, version, edit)

    async def reject(self, lesson_id: str, *, reviewer: str | None = None, version: int | None = None) -> Lesson:
        return await self._decide(lesson_id, Decision.REJECT, reviewer, version)

    async def disable(self, lesson_id: str, *, reviewer: str | None = None, version: int | None = None) -> Lesson:
        return await self._decide(lesson_id, Decision.DISABLE, reviewer, version)

    async def erase(self, lesson_id: str) -> None:
        await self._erase(lesson_id, actor=_ACTOR)

    async def _decide(
        self,
        lesson_id: str,
        decision: Decision,
        reviewer: str | None,
        version: int | None,
        edit: LessonEdit | None = None,
    ) -> Lesson:
        said = {"reviewer": reviewer, "version": version}
        body = check({**said, **(fields_of(edit, LessonEdit) if edit is not None else {})}, EditBody, "decision")
        command = ReviewCommand(
            lesson_id=lesson_id,
            decision=decision,
            actor=_ACTOR,
            edit=body.edit() if edit is not None else None,
            version=body.version,
            reviewer=body.reviewer,
        )
        return await self._review(command)


class LearnerDependencies:
    """The Learner's container: its stores and its review service."""

    def __init__(self, container: IncorporatorContainer) -> None:
        learner = container.learner
        self.lesson_store: LessonStore = learner.store()
        self.skills_store = PromotedStore(Bin.SKILLS, learner.search(), learner.store())
        self.knowledge_base = PromotedStore(Bin.KNOWLEDGE, learner.search(), learner.store())
        self.vector_store: VectorIndex = learner.vectors()
        self.review_queue = ReviewQueue(learner.store())
        self.review_service = ReviewService(learner.inject(), learner.review(), container.erase(), learner.store())
        self.llm_client: Llm = container.llm()
        self.embedder: Embedder = learner.embedder()


class Dependencies:
    """Everything that a pipeline needs, put together from the settings. `container` allows overriding any part."""

    def __init__(self, container: IncorporatorContainer) -> None:
        self.container = container
        container.rules()
        self.matching_engine = MatchingEngine(container.match())
        self.applier_service = ApplierService(container.apply())
        self.feedback_recorder = FeedbackRecorder(container.record())
        self.feedback_updater = FeedbackUpdater(container.update())
        self.threshold_monitor = ThresholdMonitor(container.escalate())
        self.learner_deps = LearnerDependencies(container)

    async def aclose(self) -> None:
        """Closes what has been opened."""
        await close_incorporator(self.container)

    async def __aenter__(self) -> Dependencies:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def build_dependencies(settings: Settings, container: IncorporatorContainer | None = None) -> Dependencies:
    """Puts the service together. Needs no running event loop. Raises `InvalidConfiguration`.

    A `container` with providers overridden takes the place of the default one, e.g. in a host's tests.
    """
    return Dependencies(container or IncorporatorContainer(settings=settings))
