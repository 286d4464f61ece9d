"""Importing what was read: every lesson by itself, whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.lesson_files.known import Known
from entrypoints.cli.lesson_files.reading import BadFile, ReadLesson
from entrypoints.cli.lesson_files.results import Imported, Result
from entrypoints.cli.progress import each
from entrypoints.cli.service import Service

#: Lessons a request: few enough for a bar that moves, and a page of text that a service takes at once.
_MOST = 25
_LARGEST = 256 * 1024


async def bring_in(
    service: Service, read: Sequence[ReadLesson | BadFile], *, again: bool, dry_run: bool
) -> list[Imported]:
    """Injects the lessons that are new; those wait for review then. With `again`, also those that were edited here.

    Answers what became of each, in the order of reading.

    Raises `Failure` where the service goes away in between; what has come in until then is known the next time.
    """
    lessons = [one for one in read if isinstance(one, ReadLesson)]
    done = [
        Imported(origin=one.origin, result=Result.FAILED, reason=one.reason) for one in read if isinstance(one, BadFile)
    ]
    known = await Known.of(service, [one.draft for one in lessons])
    new: list[ReadLesson] = []
    for one in each(lessons, "Comparing"):
        there = await _there_already(known, one, again=again)
        if there is None:
            new.append(one)
            known.add(one.draft, "")
        else:
            done.append(there)
    if dry_run:
        done += [Imported(origin=one.origin, result=Result.IMPORTED) for one in new]
    for batch in each([] if dry_run else list(_batches(new)), "Importing", len):
        done += await _injected(service, batch)
    order = {one.origin: number for number, one in enumerate(read)}
    return sorted(done, key=lambda one: order[one.origin])


async def _there_already(known: Known, one: ReadLesson, *, again: bool) -> Imported | None:
    lesson_id = known.same(one.draft)
    if lesson_id is not None:
        return Imported(origin=one.origin, result=Result.KNOWN, lesson_id=lesson_id or None)
    lesson_id = None if again else await known.edited_here(one.draft)
    if lesson_id is None:
        return None
    reason = "the lesson has been edited here since it came in (--again imports the file as a new lesson)"
    return Imported(origin=one.origin, result=Result.EDITED_HERE, lesson_id=lesson_id, reason=reason)


def _batches(lessons: Sequence[ReadLesson]) -> Iterator[list[ReadLesson]]:
    batch: list[ReadLesson] = []
    size = 0
    for one in lessons:
        length = len(one.draft.body)
        if batch and (len(batch) == _MOST or size + length > _LARGEST):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += length
    if batch:
        yield batch


async def _injected(service: Service, batch: Sequence[ReadLesson]) -> list[Imported]:
    """All at once; where the service does not take them so, one by one, to find out which it does not take."""
    try:
        added = await service.inject([one.draft for one in batch])
    except Failure as failure:
        if failure.code is not ExitCode.USAGE:
            raise
        if len(batch) == 1:
            return [Imported(origin=batch[0].origin, result=Result.FAILED, reason=failure.message)]
        return [done for one in batch for done in await _injected(service, [one])]
    return [
        Imported(origin=one.origin, result=Result.IMPORTED, lesson_id=lesson.id)
        for one, lesson in zip(batch, added, strict=True)
    ]
