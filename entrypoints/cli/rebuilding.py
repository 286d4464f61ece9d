"""Rebuilding what is derived from the object store."""

from __future__ import annotations

from collections.abc import Callable

from entrypoints.apps import close_incorporator
from entrypoints.cli.local import local_container
from entrypoints.cli.places import Store, check_exists


async def rebuild(told: Callable[[int, int], None]) -> int:
    """Vectors and vector index anew, then the lessons folder; how many promoted lessons there are.

    `told` hears how far the vectors are: so much of so much. Raises `InvalidConfiguration`, `Unavailable`, and
    `Failure` for no database.
    """
    container = local_container()
    check_exists(container.learner.database(), Store.LESSONS)
    catalog = container.learner.catalog()
    try:
        count = await catalog.reindex(told)
        await catalog.reconcile()
    finally:
        await close_incorporator(container)
    return count
