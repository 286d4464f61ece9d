"""The options that several commands take."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from domain.learner.lesson import Bin, Status
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.terminal import remark


def user_name() -> str | None:
    """Who is logged in here, for the lessons' log."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def confirm(question: str, *, default: bool = False) -> None:
    """Goes on where the answer is yes. Raises `typer.Abort`, and `Failure` where there is nobody to ask."""
    try:
        agreed = typer.confirm(question, default=default, err=True)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        remark("")  # the question's line has no end
        raise Failure("there is nobody to ask here, so nothing is done: --yes does it unasked", ExitCode.NO) from None
    if not agreed:
        raise typer.Abort


#: What stands below every command's help: what is the same for all of them.
EVERYWHERE = (
    "`--url` and `--api-key` choose a service instead of the local stores; `memorygrid --help` tells of them, and of "
    "the exit codes."
)


def examples(shown: Mapping[str, str]) -> str:
    """What stands below a command's help: commands as one types them, each with what it does."""
    lines = [f"- `{command}`" + (f" ({what})" if what else "") for command, what in shown.items()]
    return "\n".join(["Examples:", "", *lines, "", EVERYWHERE])


#: The panels of `memorygrid --help`.
START = "Start"
LESSONS = "Lessons"
MATCHING = "Matching and what became of it"
UPKEEP = "Upkeep"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table, for scripts.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before it is done.")]
LessonId = Annotated[
    str, typer.Argument(help="The lesson's id, as the lists show it: a UUID.", metavar="ID", show_default=False)
]
LessonIds = Annotated[
    list[str],
    typer.Argument(help="The lessons' ids, as the lists show them: one or more.", metavar="ID", show_default=False),
]
OfStatus = Annotated[Status | None, typer.Option("--status", help="Only lessons of this status.", show_default=False)]
OfBin = Annotated[
    Bin | None,
    typer.Option(
        "--bin",
        help="Only lessons of this bin: skills_base says what to do, knowledge_base what to know.",
        show_default=False,
    ),
]
OfLesson = Annotated[
    str | None, typer.Option("--lesson", help="Only those of the lesson of this id.", metavar="ID", show_default=False)
]
Limit = Annotated[int, typer.Option("--limit", "-n", help="At most so many rows.", min=1)]
Note = Annotated[str | None, typer.Option("--note", help="Why, for the lesson's log.", show_default=False)]
Reviewer = Annotated[
    str | None, typer.Option("--reviewer", help="Who decides, for the lesson's log.", show_default="your user name")
]
Version = Annotated[
    int | None,
    typer.Option("--version", help="Refuse if this is no longer the lesson's version.", min=1, show_default=False),
]
