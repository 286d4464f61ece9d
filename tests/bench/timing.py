"""Times of calls that are made one after the other, and of their parts."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Of one call, in milliseconds: the median, the 99th percentile, and the processor time on average."""

    p50_ms: float
    p99_ms: float
    cpu_ms: float
    times: int


def summary(took: Sequence[float], cpu_s: float) -> Times:
    """From the seconds that each call took, and the processor's seconds for all of them."""
    ordered = sorted(took)
    return Times(
        p50_ms=round(1e3 * statistics.median(ordered), 4),
        p99_ms=round(1e3 * ordered[len(ordered) * 99 // 100], 4),
        cpu_ms=round(1e3 * cpu_s / len(ordered), 4),
        times=len(ordered),
    )


def of_each(calls: Sequence[Callable[[], object]], *, warm_ups: int = 0) -> Times:
    """Each call once; the first `warm_ups` are not timed."""
    for call in calls[:warm_ups]:
        call()
    took, cpu = [], time.process_time()
    for call in calls[warm_ups:]:
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return summary(took, time.process_time() - cpu)


async def of_each_awaited(calls: Sequence[Callable[[], Awaitable[object]]], *, warm_ups: int = 0) -> Times:
    """Each call once, awaited before the next one is made; the first `warm_ups` are not timed."""
    for call in calls[:warm_ups]:
        await call()
    took, cpu = [], time.process_time()
    for call in calls[warm_ups:]:
        began = time.perf_counter()
        await call()
        took.append(time.perf_counter() - began)
    return summary(took, time.process_time() - cpu)


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """The median of one part, in milliseconds."""

    name: str
    p50_ms: float


def stages(of_each_call: Sequence[Mapping[str, float]]) -> list[Stage]:
    """From the seconds that each part took in each call; the parts in the order of the first call."""
    return [
        Stage(name=name, p50_ms=round(1e3 * statistics.median(one[name] for one in of_each_call), 4))
        for name in of_each_call[0]
    ]
