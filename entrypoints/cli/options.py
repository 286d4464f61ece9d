"""The options that several commands take."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from domain.learner.lesson import Bin, Status


def user_name() -> str | None:
    """Who is logged in here, for the lessons' log."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
LessonId = Annotated[str, typer.Argument(help="The lesson's id.", metavar="ID", show_default=False)]
LessonIds = Annotated[list[str], typer.Argument(help="The lessons' ids.", metavar="ID", show_default=False)]
OfStatus = Annotated[Status | None, typer.Option("--status", help="Only lessons of this status.", show_default=False)]
OfBin = Annotated[Bin | None, typer.Option("--bin", help="Only lessons of this bin.", show_default=False)]
OfLesson = Annotated[str | None, typer.Option("--lesson", help="Only those of this lesson.", metavar="ID")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="At most so many.", min=1)]
Note = Annotated[str | None, typer.Option("--note", help="Why, for the lesson's log.", show_default=False)]
Reviewer = Annotated[
    str | None, typer.Option("--reviewer", help="Who decides, for the lesson's log.", show_default="your user name")
]
Version = Annotated[
    int | None,
    typer.Option("--version", help="Only if this is still the lesson's version.", min=1, show_default=False),
]
