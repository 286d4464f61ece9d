"""`memorygrid serve` and `memorygrid demo`."""

from __future__ import annotations

import signal
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class App(str, Enum):
    """`incorporator` has the Learner's routes, too, unless MG_LEARNER_API=off."""

    INCORPORATOR = "incorporator"
    LEARNER = "learner"


_APPS = {
    App.INCORPORATOR: ("memorygrid_incorporator.main:app", 8001),
    App.LEARNER: ("memorygrid_learner.main:app", 8000),
}

#: Seconds that requests in flight have to finish when the service is asked to end.
_TO_FINISH_S = 10


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)
    app.command("demo")(demo)


def serve(
    which: Annotated[App, typer.Argument(help="Which service.", metavar="SERVICE")] = App.INCORPORATOR,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(help="The port.", min=0, max=65535, show_default="8001, the Learner 8000")
    ] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
) -> None:
    """Serve until interrupted, by the MG_* settings: the same as uvicorn with the app's name.

    Without keys (MG_API_KEYS) the service answers clients on its own machine only.
    """
    import uvicorn  # noqa: PLC0415 - other commands need none of it

    from entrypoints.http.protocol import BoundedHttp  # noqa: PLC0415

    name, usual = _APPS[which]
    signal.signal(signal.SIGTERM, _end)  # uvicorn hands the signal on when all is finished
    uvicorn.run(
        name,
        host=host,
        port=usual if port is None else port,
        access_log=access_log,
        http=BoundedHttp,
        timeout_graceful_shutdown=_TO_FINISH_S,
    )


def _end(_signal: int, _frame: object) -> None:
    raise SystemExit(0)


def demo(
    serve: Annotated[bool, typer.Option("--serve", help="Serve the sample lessons until Ctrl-C instead.")] = False,
    port: Annotated[int, typer.Option(help="With --serve: the port.", min=0, max=65535)] = 8001,
    fresh: Annotated[bool, typer.Option("--fresh", help="With --serve: forget what happened the last time.")] = False,
    folder: Annotated[Path, typer.Option(help="Where the demo's own folder is made.")] = Path(".demo"),
    keep: Annotated[bool, typer.Option("--keep", help="Leave the folder of a story that came out well.")] = False,
) -> None:
    """Tell the whole story in a minute: lessons are imported, reviewed, matched; one fails and is repaired.

    A real service runs for it, with databases of its own. Yours are never touched, and no MG_* setting is read.
    """
    from entrypoints.demo import run  # noqa: PLC0415 - other commands need none of it

    if serve:
        run.serve(folder.resolve(), port=port, fresh=fresh)
    else:
        run.tell_story(folder.resolve(), keep=keep)
