"""What the rounds of a comparison come to: medians of figures, and medians of ratios within a round."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec

from tests.bench.peer_protocol import Job, Measured


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """Of two figures of the same round: the median over the rounds, the smallest and the largest."""

    median: float
    least: float
    most: float


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """Of one call, the median of the rounds' medians and of their processor time, in milliseconds; `times` are the
    calls of all rounds, and `ratio` is to the service's call that does what comes nearest.
    """

    p50_ms: float
    cpu_ms: float
    times: int
    ratio: Ratio


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Of our addition, or a floor beside it: the median of the rounds' medians, and its ratio to the whole addition."""

    name: str
    p50_ms: float
    of_whole: Ratio


AS_OURS: Mapping[Job, Job] = {Job.VECTORS: Job.LESSONS, Job.ADD_VECTOR: Job.ADD_LESSON}
"""Which of our jobs a peer's is compared with, where it is another one."""


def ratio(figures: Sequence[float], others: Sequence[float]) -> Ratio:
    """Of figures to others, round by round."""
    ratios = [one / other for one, other in zip(figures, others, strict=True)]
    return Ratio(median=round(statistics.median(ratios), 3), least=round(min(ratios), 3), most=round(max(ratios), 3))


def figures(rounds: Sequence[Measured], ours: Sequence[Measured], jobs: Sequence[Job]) -> dict[Job, Figure]:
    """Of those of these jobs that a participant does."""
    return {job: _figure(job, rounds, ours) for job in jobs if job in rounds[0].times}


def parts(ours: Sequence[Measured]) -> list[Part]:
    """Of our addition, in the order of the first round."""
    return [_part(part.name, [one.parts[at].p50_ms for one in ours], ours) for at, part in enumerate(ours[0].parts)]


def floor(job: Job, ours: Sequence[Measured]) -> Part:
    """What the disk takes by itself."""
    return _part(job.value, _medians(job, ours), ours)


def recall(rounds: Sequence[Measured]) -> dict[Job, float]:
    """The mean over the rounds, which all have the same questions."""
    return {job: round(statistics.mean(one.recall[job] for one in rounds), 4) for job in rounds[0].recall}


def _figure(job: Job, rounds: Sequence[Measured], ours: Sequence[Measured]) -> Figure:
    took = _medians(job, rounds)
    return Figure(
        p50_ms=round(statistics.median(took), 4),
        cpu_ms=round(statistics.median(one.times[job].cpu_ms for one in rounds), 4),
        times=sum(one.times[job].times for one in rounds),
        ratio=ratio(took, _medians(AS_OURS.get(job, job), ours)),
    )


def _part(name: str, took: Sequence[float], ours: Sequence[Measured]) -> Part:
    return Part(
        name=name, p50_ms=round(statistics.median(took), 4), of_whole=ratio(took, _medians(Job.ADD_LESSON, ours))
    )


def _medians(job: Job, rounds: Sequence[Measured]) -> list[float]:
    return [one.times[job].p50_ms for one in rounds]
