"""One promotion in a large catalog: how much work until it is matchable, here and in another process.

Run as `python -m tests.bench.catalog_changes` it measures, in a process of its own. The other process is stood in for
by a second Learner with connections of its own, which notices the change by the same check.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import uvloop

from application.learner.catalog import Catalog
from application.learner.review import ReviewCommand
from domain.learner.lesson import Bin, Decision, LessonDraft
from entrypoints.container import LearnerContainer
from tests.bench import catalogs, seeds
from tests.bench.processes import SERVER_CORE, run_pinned
from tests.bench.scale import Scale
from tests.bench.timing import Times, of_each_awaited, summary

_PROMOTIONS = 20
_LOOKS = 2_000


class Job(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    folder: str
    lessons: int


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """`promotion` is the whole decision, `refresh` what bringing a second process up to date takes, `look` the check
    that finds nothing.
    """

    lessons: int
    promotion: Times
    refresh: Times
    look: Times


def run(scale: Scale) -> dict[str, object]:
    """At the smallest and the largest catalog."""
    sizes = sorted({min(scale.growing_lessons), scale.many_lessons})
    return {"catalogs": [_measured(count) for count in sizes]}


def _measured(count: int) -> Found:
    """On a copy of the object store with a lessons folder that holds every lesson's file."""
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder:
        file = Path(folder) / "lessons.db"
        shutil.copyfile(seeds.lesson_catalog(count).file, file)
        files = seeds.lesson_files(count)
        (files / ".catalog-revision").write_text(f"{count}\n")
        job = Job(file=str(file), folder=str(files), lessons=count)
        answer = run_pinned("tests.bench.catalog_changes", msgspec.json.encode(job), SERVER_CORE, timeout_s=900)
    return msgspec.json.decode(answer, type=Found)


async def _measure(job: Job) -> Found:
    async with (
        catalogs.opened(Path(job.file), Path(job.folder)) as here,
        catalogs.opened(Path(job.file), Path(job.folder)) as there,
    ):
        drafts = [_draft(number) for number in range(_PROMOTIONS)]
        waiting = [lesson.id for lesson in await here.inject()(drafts, actor="bench")]
        other: Catalog = there.catalog()
        await other.refresh()
        look = await of_each_awaited([other.refresh] * _LOOKS)
        promotions, refreshes = await _promotions(here, other, waiting)
        for lesson_id in waiting:
            await here.erase()(lesson_id, actor="bench")
    return Found(lessons=job.lessons, promotion=promotions, refresh=refreshes, look=look)


async def _promotions(here: LearnerContainer, other: Catalog, waiting: list[str]) -> tuple[Times, Times]:
    """Each promoted here, then noticed there."""
    review = here.review()
    took: list[float] = []
    noticed: list[float] = []
    cpu = cpu_there = 0.0
    for lesson_id in waiting:
        command = ReviewCommand(lesson_id=lesson_id, decision=Decision.APPROVE, actor="bench")
        began, busy = time.perf_counter(), time.process_time()
        await review(command)
        took.append(time.perf_counter() - began)
        cpu += time.process_time() - busy
        began, busy = time.perf_counter(), time.process_time()
        await other.refresh()
        noticed.append(time.perf_counter() - began)
        cpu_there += time.process_time() - busy
        if here.catalog().promotion(lesson_id) is None or other.promotion(lesson_id) is None:
            raise RuntimeError(f"lesson {lesson_id} is promoted and not seen")
    return summary(took, cpu), summary(noticed, cpu_there)


def _draft(number: int) -> LessonDraft:
    return LessonDraft(
        bin=Bin.SKILLS,
        title=f"A new lesson {number}",
        body=f"## Meaning\n\nThe benchmark's own, number {number}.\n\n## Mitigation\n\nNone is needed.",
        dsl_payload={"action": "go_on"},
    )


if __name__ == "__main__":
    sys.stdout.buffer.write(
        msgspec.json.encode(uvloop.run(_measure(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))))
    )
