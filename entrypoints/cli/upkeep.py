"""`memorygrid doctor`, `reindex` and `db`: what the operator of the service needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from entrypoints.cli.checks.findings import Finding, Level
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.options import UPKEEP, AsJson, examples
from entrypoints.cli.progress import telling, waiting
from entrypoints.cli.session import Session
from entrypoints.cli.terminal import Marks, console, plain, print_json, print_table, say

if TYPE_CHECKING:
    from entrypoints.cli.checks.databases import DatabaseState
    from entrypoints.cli.service import Service

database = typer.Typer(name="db", no_args_is_help=True, help="Check and upgrade the databases' schemas.")


def register(app: typer.Typer) -> None:
    app.command(
        "doctor",
        rich_help_panel=UPKEEP,
        epilog=examples(
            {
                "memorygrid doctor": "the local stores and all that the settings name",
                "memorygrid doctor --url http://localhost:8001 --api-key KEY": "what a service says of itself",
                "memorygrid doctor --json | jq '.[] | select(.level != \"ok\")'": "",
            }
        ),
    )(doctor)
    app.command("reindex", rich_help_panel=UPKEEP, epilog=examples({"MG_EMBEDDER=onnx memorygrid reindex": ""}))(
        reindex
    )
    app.add_typer(database, rich_help_panel=UPKEEP)


def doctor(
    context: typer.Context,
    ask_llm: Annotated[
        bool,
        typer.Option(
            "--ask-llm",
            help="Ask the language model something (at most 20 s, a few tokens); else only whether there is a key.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check settings, databases, vectors, embedder, language model, rules and outbox, and say what to do.

    Changes no settings and makes no database. With --url, what that service says of itself. The exit code is 0 also
    where something only asks for attention (!), 1 where something is bad, 2 where the settings are.
    """
    with waiting("Checking"):
        findings = _findings(Session.of(context), ask_llm=ask_llm)
    if as_json:
        print_json(findings)
    else:
        _show(findings)
    bad = [one.name for one in findings if one.level is Level.BAD]
    if bad:
        raise Failure(f"not in order: {', '.join(bad)}", ExitCode.USAGE if "settings" in bad else ExitCode.NO)


def reindex(context: typer.Context) -> None:
    """Embed all promoted lessons anew, and rebuild the vector index and the lessons folder from the object store.

    Needed after a change of MG_EMBEDDER, and where a vector store has lost its data. It runs where the stores are,
    not with --url. Lessons and their decisions stay as they are. What was embedded is kept when it is interrupted.
    A running service with MG_VECTOR_BACKEND=memory must be started anew afterwards.
    """
    Session.of(context).stores_only("reindex")
    from entrypoints.cli.rebuilding import rebuild  # noqa: PLC0415 - loads the whole service

    with telling("Embedding all promoted lessons") as told:
        count = anyio.run(rebuild, told)
    say(f"{count} promoted lessons are embedded and indexed anew")


@database.command("check", epilog=examples({"memorygrid db check || memorygrid db upgrade": ""}))
def check(context: typer.Context, as_json: AsJson = False) -> None:
    """Tell whether the schemas are those that this program needs. Changes nothing.

    Object store and feedback database (MG_TIDB_DSN, MG_FEEDBACK_TIDB_DSN), where they are, not with --url. The exit
    code is 1 where one is missing, older, newer or unusable, 3 where one does not answer.
    """
    Session.of(context).stores_only("db check")
    from entrypoints.cli.checks.databases import Databases  # noqa: PLC0415 - loads the adapters
    from entrypoints.settings import Settings  # noqa: PLC0415 - loads the adapters

    _report(anyio.run(Databases(Settings()).look), as_json=as_json)


@database.command(
    "upgrade", epilog=examples({"memorygrid db upgrade": "before the first start, and with every new version"})
)
def upgrade(context: typer.Context, as_json: AsJson = False) -> None:
    """Create what is missing and run the migrations that are; several processes may do so at once.

    Both databases, where they are, not with --url. A service does so itself when it starts, save for a server's
    database with an older schema: that needs this command. What is up to date is left alone.
    """
    Session.of(context).stores_only("db upgrade")
    from entrypoints.cli.checks.databases import Databases  # noqa: PLC0415 - loads the adapters
    from entrypoints.settings import Settings  # noqa: PLC0415 - loads the adapters

    with waiting("Upgrading"):
        states = anyio.run(Databases(Settings()).upgrade)
    _report(states, as_json=as_json)


def _findings(session: Session, *, ask_llm: bool) -> list[Finding]:
    if session.url is not None:
        from entrypoints.cli.checks.remote import check_up_of  # noqa: PLC0415 - only what is used is loaded

        async def of(service: Service) -> list[Finding]:
            return [finding async for finding in check_up_of(service)]

        return session.ask(of)
    from entrypoints.cli.checks.local import check_up  # noqa: PLC0415 - loads the whole service

    async def here() -> list[Finding]:
        return [finding async for finding in check_up(ask_llm=ask_llm)]

    return anyio.run(here)


def _show(findings: Sequence[Finding]) -> None:
    marks = Marks(console())
    signs = {
        Level.OK: plain(marks.yes, "bold green"),
        Level.ATTENTION: plain(marks.attention, "bold yellow"),
        Level.BAD: plain(marks.no, "bold red"),
    }
    rows = [(signs[one.level], one.name, one.found, one.advice or "") for one in findings]
    print_table(["", "Part", "Found", "What to do"], rows, whole=["Part"])


def _report(states: Sequence[DatabaseState], *, as_json: bool) -> None:
    if as_json:
        print_json(states)
    else:
        rows = [(one.name, one.state.value, one.revision or "none", one.needed, one.address) for one in states]
        print_table(["Database", "State", "Revision", "Needed", "Address"], rows)
    wrong = [one for one in states if one.state.value != "up_to_date"]
    if problems := [one.problem for one in wrong if one.problem]:
        away = any(one.state.value == "unreachable" for one in wrong)
        raise Failure("; ".join(problems), ExitCode.UNREACHABLE if away else ExitCode.NO)
    if wrong:
        raise Failure(f"not up to date: {', '.join(one.name for one in wrong)}", ExitCode.NO)
