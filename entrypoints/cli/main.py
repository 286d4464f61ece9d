"""`memorygrid`: the command line."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import typer

from entrypoints.cli import running
from entrypoints.cli.failures import MEANINGS, Failure
from entrypoints.cli.terminal import complain

app = typer.Typer(
    name="memorygrid",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes:\n\n" + "\n".join(f"- {int(code)}: {meaning}" for code, meaning in MEANINGS.items()),
)


@app.callback()
def memorygrid() -> None:
    """How agents use the lessons they have learned: match, apply, record feedback, escalate."""


running.register(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(arguments)
    except Failure as failure:
        complain(failure.message)
        raise SystemExit(int(failure.code)) from failure
