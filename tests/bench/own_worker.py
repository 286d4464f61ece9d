"""The service's part in the comparison: `python -m tests.bench.own_worker FOLDER`.

FOLDER holds the files of `peer_protocol.Catalog`, and a copy of the same catalog as the service keeps it: `lessons.db`
and `lessons`. The floors are taken here too, in the same rounds.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import uvloop

from application.learner.ports import LessonChange, VectorHit
from application.learner.review import ReviewCommand
from domain.learner.lesson import Bin, Decision, Lesson, LessonDraft, decide, promoted_copy
from domain.learner.log import DECIDED, LogEntry
from entrypoints.container import LearnerContainer
from tests.bench import catalogs, corpus
from tests.bench.addition import Addition, BareFlush, BareTransaction
from tests.bench.peer_protocol import Add, Added, Catalog, Job, Link, Measured, Ready, Request
from tests.bench.timing import of_each, of_each_awaited, stages

FIRST_NEW = 1_000_000
"""The number in the corpus of the first lesson that is added."""

Call = Callable[[], Awaitable[object]]


class Worker:
    """Answers requests. `new` are the lessons to add, stored and not yet reviewed, `changes` the promotions of those
    that are added without a review; the plan's numbers go by their order.
    """

    def __init__(
        self, learner: LearnerContainer, catalog: Catalog, new: Sequence[Lesson], changes: Mapping[int, LessonChange]
    ) -> None:
        self._learner = learner
        self._catalog = catalog
        self._plan = catalog.plan
        self._new = new
        self._changes = changes
        ids = [*map(corpus.lesson_id, range(self._plan.lessons)), *(one.id for one in new)]
        self._names = {lesson_id: str(number) for number, lesson_id in enumerate(ids)}
        self._floors: dict[Job, Callable[[], None]] = {
            Job.BARE_TRANSACTION: BareTransaction(catalog.folder),
            Job.BARE_FLUSH: BareFlush(catalog.folder),
        }

    async def answer(self, request: Request) -> Measured | Added:
        if isinstance(request, Add):
            calls = self._additions(self._plan.rounds, Addition(self._learner))[request.job]
            return Added(len([await call() for call in calls]))
        return await self._round(request.number)

    async def _round(self, number: int) -> Measured:
        index, hits = self._learner.vectors(), list[Sequence[VectorHit]]()

        async def search(query: bytes) -> None:
            hits.append(await index.nearest(query, self._plan.top))

        queries = [one.tobytes() for one in self._catalog.queries]
        times = {Job.LESSONS: await of_each_awaited([partial(search, one) for one in queries])}
        found = [[self._names[hit.lesson_id] for hit in of_one] for of_one in hits]
        recall = {Job.LESSONS: self._catalog.recall(Job.LESSONS, found)}
        added, warm_ups = Addition(self._learner), self._plan.warm_ups
        for job, calls in self._additions(number, added).items():
            times[job] = await of_each_awaited(calls, warm_ups=warm_ups)
        for job, floor in self._floors.items():
            times[job] = of_each([floor] * (warm_ups + self._plan.additions), warm_ups=warm_ups)
        for one in (*self._plan.first(number), *self._plan.second(number)):
            self._catalog.has(self._catalog.rows(one))
        return Measured(times=times, recall=recall, parts=stages(added.parts[warm_ups:]))

    def _additions(self, number: int, added: Addition) -> dict[Job, list[Call]]:
        reviews = [
            ReviewCommand(lesson_id=self._lesson(one).id, decision=Decision.APPROVE, actor="bench")
            for one in self._plan.second(number)
        ]
        return {
            Job.ADD_LESSON: [partial(added, self._changes[one]) for one in self._plan.first(number)],
            Job.PROMOTION: [partial(self._learner.review(), one) for one in reviews],
        }

    def _lesson(self, number: int) -> Lesson:
        return self._new[number - self._plan.lessons]


async def _worker(learner: LearnerContainer, catalog: Catalog) -> Worker:
    """Ready for the first round: the lessons to add are stored, and what is added without a review is embedded."""
    plan = catalog.plan
    await learner.vectors().nearest(catalog.queries[0].tobytes(), plan.top)
    catalog.has(slice(0, catalog.rows(plan.lessons).start))
    new = await learner.inject()([_draft(FIRST_NEW + number) for number in range(plan.new_lessons)], actor="bench")
    changes = {
        number: await _change(learner, new[number - plan.lessons])
        for of_round in range(plan.rounds + 1)
        for number in plan.first(of_round)
    }
    return Worker(learner, catalog, new, changes)


def _draft(number: int) -> LessonDraft:
    one = corpus.lesson(number)
    return LessonDraft(bin=Bin.SKILLS, title=one.title, body=one.body, tags=one.tags)


async def _change(learner: LearnerContainer, lesson: Lesson) -> LessonChange:
    """The promotion of a lesson, with its vectors, ready to be stored."""
    now = learner.clock().now()
    after = decide(lesson, Decision.APPROVE, at=now)
    copy = promoted_copy(after, at=now)
    return LessonChange(
        lesson=after,
        expected=lesson,
        log=[LogEntry(lesson_id=lesson.id, event=DECIDED[Decision.APPROVE], at=now, actor="bench", detail={})],
        promote=copy,
        vectors=(await learner.embed()([copy]))[0],
    )


async def main(folder: Path) -> None:
    """Answers until no more requests come."""
    link, catalog = Link(), Catalog(folder)
    async with catalogs.opened(folder / "lessons.db", folder / "lessons") as learner:
        worker = await _worker(learner, catalog)
        link.send(Ready("memorygrid"))
        while (request := await asyncio.to_thread(link.receive)) is not None:
            link.send(await worker.answer(request))


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1])))
