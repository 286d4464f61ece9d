"""`memorygrid`: the command line."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from domain.errors import MemoryGridError
from entrypoints.cli import escalations, exchange, feedback, lessons, matching, review, rules, running, upkeep
from entrypoints.cli.failures import MEANINGS, ExitCode, Failure
from entrypoints.cli.options import LESSONS, MATCHING
from entrypoints.cli.session import Session, failure_of
from entrypoints.cli.terminal import complain, say

T = TypeVar("T")

_ANYWHERE = ("--url", "--api-key")


class Root(TyperGroup):
    """Lets the options of `memorygrid` itself stand anywhere, and ends a failed command with its exit code.

    Texts of all its commands are refused where they are no UTF-8; paths may be.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for parameter in _parameters(self):
            parameter.callback = parameter.callback or _unicode

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, hoisted(args))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Failure as error:
            failure = error
        except MemoryGridError as error:
            failure = failure_of(error)
        except OSError as error:
            if error.errno == errno.EPIPE or error.filename is not None:
                raise
            failure = Failure(f"what there is to say cannot be written: {error.strerror}", ExitCode.USAGE)
        complain(failure.message)
        raise typer.Exit(int(failure.code))


def _parameters(command: Any) -> Iterator[Any]:
    """The parameters of a command and of those below it."""
    yield from command.params
    for one in getattr(command, "commands", {}).values():
        yield from _parameters(one)


def _unicode(context: Any, parameter: Any, value: T) -> T:
    """The value as it is. Bytes of the command line that are no UTF-8 are halves of surrogate pairs in its texts."""
    for one in value if isinstance(value, list | tuple) else [value]:
        try:
            if isinstance(one, str):
                one.encode()
        except UnicodeEncodeError:
            raise typer.BadParameter("this is no text in UTF-8.", context, parameter) from None
    return value


def hoisted(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--url` and `--api-key` in front, wherever they stood before a `--`."""
    front: list[str] = []
    rest: list[str] = []
    left = iter(arguments)
    for one in left:
        if one == "--":
            rest += [one, *left]
        elif one in _ANYWHERE:
            front += [one, *([value] if (value := next(left, None)) is not None else [])]
        elif one.startswith(tuple(f"{name}=" for name in _ANYWHERE)):
            front.append(one)
        else:
            rest.append(one)
    return front + rest


app = typer.Typer(
    name="memorygrid",
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes:\n\n" + "\n".join(f"- {int(code)}: {meaning}" for code, meaning in MEANINGS.items()),
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow, and rarely wanted

        try:
            say(version("memorygrid-incorporator"))
        except PackageNotFoundError:
            say("a checkout that is not installed")
        raise typer.Exit


@app.callback()
def memorygrid(
    context: typer.Context,
    url: Annotated[
        str | None,
        typer.Option(
            help="The service's address, as http://localhost:8001. Without one, the local stores.",
            envvar="MG_URL",
            show_default=False,
        ),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(
            help="The key for the service at --url. Without one, none is sent.", envvar="MG_API_KEY", show_default=False
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version, and nothing else.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """How agents use the lessons they have learned: match, apply, record feedback, escalate.

    Commands work on the local stores that the MG_* variables name (without any: SQLite files in the current
    directory), or on a service: with --url, which like --api-key may stand anywhere. New here: memorygrid demo.
    """
    context.obj = Session(url=url or None, api_key=api_key or None)


running.register(app)
app.add_typer(lessons.app, rich_help_panel=LESSONS)
app.add_typer(review.app, rich_help_panel=LESSONS)
matching.register(app)
for one in (feedback.app, rules.app, escalations.app):
    app.add_typer(one, rich_help_panel=MATCHING)
upkeep.register(app)
exchange.register(lessons.app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(arguments)
