"""What `GET /health/ready` tells: the state of everything that requests depend on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

from application.feedback.ports import Outbox
from application.incorporator.ports import Rules
from application.learner.catalog import Catalog
from application.learner.ports import LessonStore
from application.shared.ports import Clock, Llm
from domain.errors import MemoryGridError
from entrypoints.http.services import Check, Readiness

_TIMEOUT_S = 2.0
#: An escalation that waits longer than this tells that a target is away, or that no dispatcher runs.
_OLD_S = 300.0


class LearnerReadiness(Readiness):
    """The object store, and what is derived from it.

    While the embedder fails, rules with a text match go on; with vectors of another one nothing is right.
    """

    def __init__(self, *, store: LessonStore, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    async def __call__(self) -> Sequence[Check]:
        async def reach() -> None:
            await self._store.revision()
            await self._store.check_writes()

        derived = self._catalog.problems
        checks = [
            Check(name="object_store", problem=await problem_of(reach)),
            Check(name="embedder", problem=derived.get("embedder"), vital=self._catalog.is_of_another_embedder),
        ]
        checks += [Check(name=name, problem=derived.get(name), vital=False) for name in ("vectors", "lessons_folder")]
        return checks


class IncorporatorReadiness(Readiness):
    """The Learner's, and the feedback database, the outbox, the rules file and the language model."""

    def __init__(self, *, learner: LearnerReadiness, outbox: Outbox, rules: Rules, llm: Llm, clock: Clock) -> None:
        self._learner = learner
        self._outbox = outbox
        self._rules = rules
        self._llm = llm
        self._clock = clock

    async def __call__(self) -> Sequence[Check]:
        waiting: list[float] = []

        async def reach() -> None:
            oldest = await self._outbox.oldest_pending()
            if oldest is not None:
                waiting.append((self._clock.now() - oldest).total_seconds())
            await self._outbox.check_writes()

        self._rules.current()
        feedback = Check(name="feedback_database", problem=await problem_of(reach))
        old = f"the oldest escalation has waited {waiting[0]:.0f} s" if waiting and waiting[0] > _OLD_S else None
        return [
            *await self._learner(),
            feedback,
            Check(name="outbox", problem=old, vital=False),
            Check(name="rules", problem=self._rules.problem(), vital=False),
            Check(name="llm", problem=self._llm.problem(), vital=False),
        ]


async def problem_of(reach: Callable[[], Awaitable[None]]) -> str | None:
    """What is wrong with something outside, found out within 2 s."""
    try:
        with anyio.fail_after(_TIMEOUT_S):
            await reach()
    except MemoryGridError as error:
        return error.detail
    except TimeoutError:
        return f"no answer within {_TIMEOUT_S:g} s"
    return None
