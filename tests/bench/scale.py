"""How much is measured: the full run, and the quick one that takes less than two minutes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes and times of every experiment.

    `growing_entries` and `growing_lessons` are what the cost of a request is compared between; `repeats` is how often
    what is not under load is measured.
    """

    rounds: int
    round_s: float
    connections: Sequence[int]
    lessons: int
    entries: int
    growing_entries: Sequence[int]
    growing_lessons: Sequence[int]
    many_lessons: int
    commits: int
    repeats: int


FULL = Scale(
    rounds=9,
    round_s=2.0,
    connections=(1, 16, 64),
    lessons=10_000,
    entries=10_000,
    growing_entries=(1_000, 10_000, 100_000, 1_000_000),
    growing_lessons=(100, 1_000, 10_000, 100_000),
    many_lessons=100_000,
    commits=4_000,
    repeats=100,
)
QUICK = Scale(
    rounds=2,
    round_s=0.3,
    connections=(1, 16),
    lessons=1_000,
    entries=1_000,
    growing_entries=(1_000, 10_000),
    growing_lessons=(100, 1_000),
    many_lessons=1_000,
    commits=400,
    repeats=20,
)
