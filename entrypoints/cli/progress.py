"""Progress, on standard error, where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console

from entrypoints.cli.terminal import console

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")


@cache
def _screen() -> Console:
    """One for all, so that what is shown within something else that is shown stands below it."""
    return console(stderr=True)


def each(items: Sequence[T], what: str, size: Callable[[T], int] = lambda _: 1) -> Generator[T, None, None]:
    """The items one by one, with a bar that goes when the last is done. Nothing may be printed meanwhile.

    The bar counts what `size` says of each.
    """
    total = sum(map(size, items))
    with _bars(shown=total > 1) as bars:
        task = bars.add_task(what, total=total)
        for item in items:
            yield item
            bars.advance(task, size(item))


@contextmanager
def telling(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for something that tells how far it has come: so much of so much."""
    with _bars(shown=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, of: bars.update(task, completed=done, total=of)


def _bars(*, shown: bool) -> Progress:
    """Goes without a trace, and only a terminal sees it."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    out = _screen()
    return Progress(
        *columns,
        console=out,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not (shown and out.is_terminal),
    )


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign of life for something whose length nobody knows."""
    out = _screen()
    if not out.is_terminal:
        yield
        return
    with out.status(what):
        yield
