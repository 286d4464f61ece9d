"""Doing the same to several things: each by itself, whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from domain.learner.lesson import Decision
from entrypoints.cli.failures import ExitCode, Failure
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


async def decide_all(service: Service, decision: Decision, said_of: dict[str, Said]) -> None:
    """Decides the same on each lesson. Raises the worst `Failure` at the end."""

    async def decide(lesson_id: str) -> str:
        after = await service.decide(lesson_id, decision, said_of[lesson_id])
        return f"{after.id}  {on_one_line(after.title)}"

    await one_by_one(list(said_of), decide, _DONE[decision])


async def one_by_one(ids: Sequence[str], work: Callable[[str], Awaitable[str]], done: str) -> None:
    """Does `work` with each id, and says afterwards what it answers. Raises the worst `Failure` at the end.

    A service that does not answer, or refuses the key, is not asked again. An interrupt, too, leaves it said what was
    done until then.
    """
    lines: list[str] = []
    failures: dict[str, Failure] = {}
    items = each(ids, done.capitalize())
    try:
        for one in items:
            try:
                lines.append(await work(one))
            except Failure as error:
                failures[one] = error
                if error.code in (ExitCode.UNREACHABLE, ExitCode.DENIED):
                    break
    finally:
        items.close()
        for line in lines:
            say(f"{done}  {line}")
        for one, failure in failures.items():
            complain(f"{one}: {failure.message}")
    if failures:
        worst = max(failure.code for failure in failures.values())
        raise Failure(f"{len(ids) - len(lines)} of {len(ids)} could not be {done}", worst)
