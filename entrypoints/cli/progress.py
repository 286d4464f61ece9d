"""Progress, on standard error, where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from rich.console import Console

from entrypoints.cli.terminal import console

T = TypeVar("T")


@cache
def _screen() -> Console:
    """One for all, so that what is shown within something else that is shown stands below it."""
    return console(stderr=True)


def each(items: Sequence[T], what: str, size: Callable[[T], int] = lambda _: 1) -> Generator[T, None, None]:
    """The items one by one, with a bar that goes when the last is done. Nothing may be printed meanwhile.

    The bar counts what `size` says of each.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    out = _screen()
    with Progress(
        *columns,
        console=out,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not out.is_terminal or sum(map(size, items)) < 2,
    ) as progress:
        task = progress.add_task(what, total=sum(map(size, items)))
        for item in items:
            yield item
            progress.advance(task, size(item))


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign of life for something whose length nobody knows."""
    out = _screen()
    if not out.is_terminal:
        yield
        return
    with out.status(what):
        yield
