"""Vectors for tests, and what an index should find among them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from adapters.vectors.cosines import Lesson, Vectors

DIMENSION = 64


def vectors(number: int, seed: int, around: Vectors | None = None) -> Vectors:
    """So many random unit vectors, all over the sphere or around one."""
    made = np.random.default_rng(seed).standard_normal((number, DIMENSION)).astype(np.float32)
    if around is not None:
        made = made / np.float32(6.0) + around
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def best(query: Vectors, lessons: Iterable[Lesson], limit: int, group: int | None = None) -> list[str]:
    """The ids of the nearest lessons, by computing every cosine."""
    cosines = {
        lesson.id: float((lesson.vectors.astype(np.float64) @ query).max())
        for lesson in lessons
        if group in (None, lesson.group)
    }
    return sorted(cosines, key=lambda one: (-cosines[one], one))[:limit]
