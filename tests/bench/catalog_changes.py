"""One promotion in a large catalog: how much work until it is matchable, here and in another process.

Run as `python -m tests.bench.catalog_changes` it measures, in a process of its own. The other process is stood in for
by a second Learner with connections of its own, which notices the change by the same check.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import uvloop

from adapters.lessons.skill_folder import SkillFolder
from application.learner.catalog import Catalog
from application.learner.ports import LessonFiles
from application.learner.review import ReviewCommand
from domain.learner.lesson import Bin, Decision, LessonDraft, PromotedLesson
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
    """`promotion` is the whole decision, `matchable` the part of it after which matching sees the lesson (its file is
    written last), `refresh` what bringing a second process up to date takes, `look` the check that finds nothing.
    """

    lessons: int
    promotion: Times
    matchable: Times
    refresh: Times
    look: Times


class _Clocked(LessonFiles):
    """The lessons folder, which comes last of all that is derived; notes when it was its turn."""

    def __init__(self, files: LessonFiles) -> None:
        self._files = files
        self.turn = self.busy = 0.0

    async def revision(self) -> int:
        self.turn, self.busy = time.perf_counter(), time.process_time()
        return await self._files.revision()

    async def apply(self, put: Sequence[PromotedLesson], remove: Sequence[str], revision: int) -> None:
        await self._files.apply(put, remove, revision)


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
    files = _Clocked(SkillFolder(job.folder))
    async with (
        catalogs.opened(Path(job.file), Path(job.folder), files) as here,
        catalogs.opened(Path(job.file), Path(job.folder)) as there,
    ):
        drafts = [_draft(number) for number in range(_PROMOTIONS + 1)]
        waiting = [lesson.id for lesson in await here.inject()(drafts, actor="bench")]
        other: Catalog = there.catalog()
        await other.refresh()
        look = await of_each_awaited([other.refresh] * _LOOKS)
        await _promotions(here, other, files, waiting[:1])  # lists the folder, once
        promotions, matchable, refreshes = await _promotions(here, other, files, waiting[1:])
        for lesson_id in waiting:
            await here.erase()(lesson_id, actor="bench")
    return Found(lessons=job.lessons, promotion=promotions, matchable=matchable, refresh=refreshes, look=look)


async def _promotions(
    here: LearnerContainer, other: Catalog, files: _Clocked, waiting: Sequence[str]
) -> tuple[Times, Times, Times]:
    """Each promoted here, then noticed there."""
    review = here.review()
    took: list[float] = []
    seen: list[float] = []
    noticed: list[float] = []
    cpu = cpu_seen = cpu_there = 0.0
    for lesson_id in waiting:
        command = ReviewCommand(lesson_id=lesson_id, decision=Decision.APPROVE, actor="bench")
        began, busy = time.perf_counter(), time.process_time()
        await review(command)
        took.append(time.perf_counter() - began)
        cpu += time.process_time() - busy
        seen.append(files.turn - began)
        cpu_seen += files.busy - busy
        began, busy = time.perf_counter(), time.process_time()
        await other.refresh()
        noticed.append(time.perf_counter() - began)
        cpu_there += time.process_time() - busy
        if here.catalog().promotion(lesson_id) is None or other.promotion(lesson_id) is None:
            raise RuntimeError(f"lesson {lesson_id} is promoted and not seen")
    return summary(took, cpu), summary(seen, cpu_seen), summary(noticed, cpu_there)


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
