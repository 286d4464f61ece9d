"""Deciding on several lessons: each by itself, whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from domain.learner.lesson import Decision
from entrypoints.cli.failures import Failure
from entrypoints.cli.progress import each
from entrypoints.cli.said import Said
from entrypoints.cli.terminal import complain, on_one_line, say

if TYPE_CHECKING:
    from entrypoints.cli.service import Service

_DONE = {
    Decision.APPROVE: "approved",
    Decision.EDIT: "edited",
    Decision.REJECT: "rejected",
    Decision.DISABLE: "disabled",
}


async def decide_all(service: Service, decision: Decision, lessons: Sequence[tuple[str, Said]]) -> None:
    """Raises the worst `Failure` at the end, with how many there were."""

    async def decide(lesson: tuple[str, Said]) -> None:
        after = await service.decide(lesson[0], decision, lesson[1])
        say(f"{_DONE[decision]}  {after.id}  {on_one_line(after.title)}")

    await one_by_one(lessons, decide, _DONE[decision])


async def one_by_one(
    lessons: Sequence[tuple[str, Said]], work: Callable[[tuple[str, Said]], Awaitable[None]], done: str
) -> None:
    failures: list[Failure] = []
    for lesson in each(lessons, done.capitalize()):
        try:
            await work(lesson)
        except Failure as failure:
            complain(f"{lesson[0]}: {failure.message}")
            failures.append(failure)
    if failures:
        worst = max(failures, key=lambda one: one.code)
        raise Failure(f"{len(failures)} of {len(lessons)} could not be {done}", worst.code)
