"""`memorygrid serve` and `memorygrid demo`."""

from __future__ import annotations

import signal
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from entrypoints.cli.listening import check_free
from entrypoints.cli.options import START, examples


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
    app.command(
        "serve",
        rich_help_panel=START,
        epilog=examples(
            {
                "memorygrid serve": "the Incorporator, with the Learner's routes, on http://127.0.0.1:8001",
                "memorygrid serve --port 8080 --access-log": "",
                "memorygrid serve learner --host 0.0.0.0": "for other machines; set MG_API_KEYS first",
            }
        ),
    )(serve)
    app.command(
        "demo",
        rich_help_panel=START,
        epilog=examples(
            {
                "memorygrid demo": "tells the story and ends by itself",
                "memorygrid demo --serve": "a service with 21 approved lessons, to try things with",
            }
        ),
    )(demo)


def serve(
    which: Annotated[
        App,
        typer.Argument(
            help="Which service. The incorporator has the Learner's routes, too, unless MG_LEARNER_API=off.",
            metavar="SERVICE",
        ),
    ] = App.INCORPORATOR,
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 is every network's.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(help="The port; 0 takes a free one.", min=0, max=65535, show_default="8001, the Learner 8000"),
    ] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log a line for every request.")] = False,
) -> None:
    """Serve over HTTP until interrupted (Ctrl-C or SIGTERM), by the MG_* settings.

    Without any setting: SQLite files in the current directory, no language model. Without keys (MG_API_KEYS) the
    service answers clients on its own machine only. Like uvicorn with the app's name, with bounds on what a
    request's head may take besides. Requests in flight get 10 seconds to finish. The API describes itself at /schema.
    The exit code is 2 where the port is taken.
    """
    import uvicorn  # noqa: PLC0415 - other commands need none of it

    from entrypoints.http.protocol import BoundedHttp  # noqa: PLC0415

    name, usual = _APPS[which]
    port = usual if port is None else port
    check_free(host, port, otherwise="--port")
    signal.signal(signal.SIGTERM, _end)  # uvicorn hands the signal on when all is finished
    uvicorn.run(
        name,
        host=host,
        port=port,
        access_log=access_log,
        http=BoundedHttp,
        timeout_graceful_shutdown=_TO_FINISH_S,
    )


def _end(_signal: int, _frame: object) -> None:
    raise SystemExit(0)


def demo(
    serve: Annotated[bool, typer.Option("--serve", help="Serve the sample lessons until Ctrl-C instead.")] = False,
    port: Annotated[int, typer.Option(help="With --serve: the port; 0 takes a free one.", min=0, max=65535)] = 8001,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="With --serve: forget what the last --serve has kept.")
    ] = False,
    folder: Annotated[
        Path, typer.Option(help="Where the demo's own folder is made, relative to the current directory.")
    ] = Path(".demo"),
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Keep the story's folder (databases, log), which else goes when all came out well."
        ),
    ] = False,
) -> None:
    """Tell the whole story in a minute: lessons are imported, reviewed, matched; one fails and is repaired.

    A real service runs for it, with databases of its own. Yours are never touched, and no MG_* setting is read.
    The exit code is 1 where something did not come out as it should, 2 where the port of --serve is taken.
    """
    from entrypoints.demo import run  # noqa: PLC0415 - other commands need none of it

    if serve:
        run.serve(folder.resolve(), port=port, fresh=fresh)
    else:
        run.tell_story(folder.resolve(), keep=keep)
