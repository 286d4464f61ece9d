"""What the handlers need: use cases and ports by name. The composition root fills these in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from application.feedback.ports import FeedbackStore, MissStore, Outbox
from application.feedback.queries import ReadMetrics
from application.feedback.report import Report
from application.incorporator.explain import ExplainMatch
from application.incorporator.invoke import Invoke
from application.learner.inject import InjectLessons
from application.learner.ports import LessonStore
from application.learner.review import ReviewLesson
from application.learner.search import SearchLessons
from application.shared.ports import Clock
from entrypoints.http.access import AccessPolicy


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the service needs. `problem` is None where it is well; `vital`: nothing works without it."""

    name: str
    problem: str | None = None
    vital: bool = True


class Readiness(Protocol):
    @abstractmethod
    async def __call__(self) -> Sequence[Check]:
        """The present state of everything that requests depend on. Bounded in time; never raises."""


class Erase(Protocol):
    """`EraseLesson`, or `EraseLessonAndAnswers` where the Incorporator is served too."""

    @abstractmethod
    async def __call__(self, lesson_id: str, *, actor: str) -> None:
        """Raises `UnknownLesson`, `StoreUnavailable`."""


@dataclass(frozen=True, kw_only=True)
class LearnerServices:
    """Behind `/lessons`."""

    inject: InjectLessons
    review: ReviewLesson
    erase: Erase
    search: SearchLessons
    lessons: LessonStore
    clock: Clock


@dataclass(frozen=True, kw_only=True)
class IncorporatorServices:
    """Behind `/incorporator`, `/feedback` and `/escalations`. `wake` tells the dispatcher of rows that are due."""

    invoke: Invoke
    explain: ExplainMatch
    misses: MissStore
    report: Report
    feedback: FeedbackStore
    metrics: ReadMetrics
    outbox: Outbox
    wake: Callable[[], None]
    clock: Clock


@dataclass(frozen=True, kw_only=True)
class HttpOptions:
    """What both apps are built with. `lifespan`: entered in order at start-up, left in reverse at shutdown."""

    access: AccessPolicy
    readiness: Readiness
    request_timeout_s: float = 30.0
    max_body_bytes: int = 1 << 20
    max_in_flight: int = 1_000
    lifespan: Sequence[Callable[[], AbstractAsyncContextManager[None]]] = field(default=())
