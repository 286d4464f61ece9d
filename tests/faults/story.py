"""Both databases with the use cases that tie them together, on stores that fail when they are told to."""

from __future__ import annotations

from enum import Enum
from pathlib import Path as FilePath
from typing import Any, cast

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.feedback.sql_outbox import SqlOutbox
from adapters.lessons.sql_lesson_store import SqlLessonStore
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE
from adapters.targets.learner_targets import LearnerHumanReview, LearnerRemediation
from application.feedback.deliver import DeliverEscalation
from application.feedback.escalate import Escalate
from application.feedback.ports import EscalationTarget, FeedbackStore, Outbox
from application.feedback.report import Report
from application.learner.catalog import Catalog
from application.learner.embed import EmbedLessons
from application.learner.escalations import EscalateLesson
from application.learner.inject import InjectLessons
from application.learner.ports import LessonStore
from application.learner.review import ReviewLesson
from domain.errors import StoreUnavailable
from domain.feedback.escalation import EscalationPolicy, Path, PathMode
from tests.fakes.clock import CountingIds, FakeClock
from tests.fakes.fake_embedder import FakeEmbedder
from tests.fakes.fake_lesson_files import FakeLessonFiles
from tests.fakes.fake_text_index import FakeTextIndex
from tests.fakes.fake_vector_index import FakeVectorIndex
from tests.fakes.fake_watch import FakeWatch


class Condition(Enum):
    """`ANSWER_LOST`: a call has its effect, and then fails as if the connection broke after the COMMIT."""

    WELL = "well"
    AWAY = "away"
    ANSWER_LOST = "answer lost"


class Fate:
    """The condition that a database is in."""

    def __init__(self) -> None:
        self.condition = Condition.WELL

    def over(self, store: object) -> Any:
        """The store under this fate."""
        return _Fated(store, self)


class _Fated:
    def __init__(self, store: object, fate: Fate) -> None:
        self._store = store
        self._fate = fate

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any, **named: Any) -> Any:
            condition = self._fate.condition
            if condition is Condition.AWAY:
                raise StoreUnavailable("the database is away")
            result = await getattr(self._store, name)(*arguments, **named)
            if condition is Condition.ANSWER_LOST and name in _WRITES:
                raise StoreUnavailable("the connection broke after the COMMIT")
            return result

        return call


_WRITES = {"report", "change", "settle", "claim", "put"}


class Story:
    """One process at a time over two databases. `crash` puts another one in its place."""

    def __init__(self, folder: FilePath) -> None:
        self.clock = FakeClock(tick_s=0.001)
        self.new_id = CountingIds(0xA)
        self._databases = [
            Database(f"sqlite+aiosqlite:///{folder}/lessons.db", OBJECT_STORE),
            Database(f"sqlite+aiosqlite:///{folder}/feedback.db", FEEDBACK_DATABASE),
        ]
        self.lessons_fate, self.feedback_fate = Fate(), Fate()
        lessons, feedback = self._databases
        self.lessons_as_they_are: LessonStore = SqlLessonStore(database=lessons)
        self.lessons = cast("LessonStore", self.lessons_fate.over(self.lessons_as_they_are))
        store = SqlFeedbackStore(database=feedback, new_id=CountingIds(0xE))
        self.store = cast("FeedbackStore", self.feedback_fate.over(store))
        self.outbox = cast("Outbox", self.feedback_fate.over(SqlOutbox(database=feedback)))
        self._processes = 0
        self.crash()

    def crash(self) -> None:
        """What was in memory is gone; another process goes on with the databases."""
        self._processes += 1
        self.owner = f"process {self._processes}"
        embed = EmbedLessons(embedder=FakeEmbedder())
        catalog = Catalog(
            store=self.lessons,
            watch=FakeWatch(),
            vectors=FakeVectorIndex(),
            texts=FakeTextIndex(),
            files=FakeLessonFiles(),
            embedder=FakeEmbedder(),
            embed=embed,
        )
        effects = EscalateLesson(store=self.lessons, catalog=catalog, clock=self.clock)
        self.targets: dict[Path, EscalationTarget] = {
            Path.HUMAN: LearnerHumanReview(escalate=effects),
            Path.AUTO: LearnerRemediation(escalate=effects),
        }
        policy = EscalationPolicy(
            threshold=1,
            mode=PathMode.BOTH,
            targets={path: target.name for path, target in self.targets.items()},
            in_process=frozenset(Path),
        )
        self.inject = InjectLessons(store=self.lessons, clock=self.clock, new_id=self.new_id)
        self.review = ReviewLesson(store=self.lessons, catalog=catalog, embed=embed, clock=self.clock)
        self.deliver = DeliverEscalation(
            outbox=self.outbox, targets=self.targets, clock=self.clock, owner=self.owner, max_attempts=1000
        )
        escalate = Escalate(
            store=self.store,
            outbox=self.outbox,
            policy=policy,
            deliver=self.deliver,
            targets=self.targets,
            wake=lambda: None,
            clock=self.clock,
            new_id=self.new_id,
            owner=self.owner,
        )
        self.report = Report(store=self.store, policy=policy, escalate=escalate, clock=self.clock, owner=self.owner)

    async def aclose(self) -> None:
        for database in self._databases:
            await database.aclose()
