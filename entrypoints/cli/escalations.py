"""`memorygrid escalations`: what was due because a lesson kept failing, and sending it once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from application.feedback.ports import EscalationFilter
from domain.feedback.escalation import State
from entrypoints.cli.decisions import one_by_one
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.options import EVERYWHERE, AsJson, Limit, OfLesson, examples
from entrypoints.cli.session import Session, Use
from entrypoints.cli.terminal import moment, on_one_line, print_json, print_table, remark

if TYPE_CHECKING:
    from entrypoints.cli.service import Service

app = typer.Typer(
    name="escalations",
    no_args_is_help=True,
    help="List escalations, and send them once more.",
    epilog=EVERYWHERE,
)


@app.command("list", epilog=examples({"memorygrid escalations list --state failed": ""}))
def list_escalations(
    context: typer.Context,
    lesson: OfLesson = None,
    state: Annotated[
        State | None, typer.Option("--state", help="Only those in this state (see above).", show_default=False)
    ] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List escalations, newest first: what is due because a lesson has kept failing, and whether it has arrived.

    *pending* is being sent, *failed* has been given up, *superseded* came too late: a person had decided already.
    """
    where = EscalationFilter(lesson_skill_id=lesson, state=state)
    found = Session.of(context).ask(lambda service: service.escalations(where, limit), of_feedback=True)
    if as_json:
        print_json(found)
        return
    rows = [
        (
            one.id,
            one.state.value,
            f"{one.path.value} to {on_one_line(one.target)}",
            one.lesson_skill_id,
            on_one_line(one.reason),
            str(one.attempts),
            moment(one.created_at),
            on_one_line(one.last_error or ""),
        )
        for one in found
    ]
    columns = ["Id", "State", "Path", "Lesson", "Reason", "Attempts", "Created (UTC)", "Last error"]
    print_table(columns, rows, whole=["Id", "Lesson"])


@app.command(
    "retry",
    epilog=examples(
        {"memorygrid escalations retry ID": "", "memorygrid escalations retry --failed": "once the target is up"}
    ),
)
def retry(
    context: typer.Context,
    escalation_ids: Annotated[
        list[str] | None,
        typer.Argument(help="The escalations' ids, as the list shows them; or --failed.", metavar="ID"),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Retry all that have failed for good.")] = False,
) -> None:
    """Make failed or waiting escalations due at once, with their attempts anew. A running service delivers them.

    Each by itself; the exit code is 1 where one could not be made due, because it was delivered or superseded.
    """
    if failed == bool(escalation_ids):
        raise Failure("name the escalations to retry, or give --failed", ExitCode.USAGE)

    async def work(service: Service) -> int:
        where = EscalationFilter(state=State.FAILED)
        ids = escalation_ids or [one.id for one in await service.escalations(where)]

        async def retry_one(escalation_id: str) -> str:
            after = await service.retry(escalation_id)
            return f"{after.id}  {after.state.value}  {on_one_line(after.target)}"

        await one_by_one(ids, retry_one, "made due")
        return len(ids)

    if not Session.of(context).ask(work, Use.CHANGES, of_feedback=True):
        remark("none has failed for good")
