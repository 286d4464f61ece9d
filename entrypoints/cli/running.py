"""`memorygrid serve` and `memorygrid demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    serve: Annotated[bool, typer.Option("--serve", help="Serve the sample lessons until Ctrl-C instead.")] = False,
    port: Annotated[int, typer.Option(help="With --serve: the port.", min=0, max=65535)] = 8001,
    fresh: Annotated[bool, typer.Option("--fresh", help="With --serve: forget what happened the last time.")] = False,
    folder: Annotated[Path, typer.Option(help="Where the demo's own folder is made.")] = Path(".demo"),
    keep: Annotated[bool, typer.Option("--keep", help="Leave the folder of a story that came out well.")] = False,
) -> None:
    """Tell the whole story in a minute: lessons are imported, reviewed, matched; one fails and is repaired.

    A real service runs for it, with databases of its own. Yours are never touched, and no MG_* variable is read.
    """
    from entrypoints.demo import run  # noqa: PLC0415 - other commands need none of it

    if serve:
        run.serve(folder.resolve(), port=port, fresh=fresh)
    else:
        run.tell_story(folder.resolve(), keep=keep)
