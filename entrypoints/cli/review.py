"""`memorygrid review`: the lessons that await a person's decision, and the decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from domain.learner.lesson import Decision, LessonDraft
from entrypoints.cli import content
from entrypoints.cli.decisions import decide_all
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.options import (
    EVERYWHERE,
    AsJson,
    LessonId,
    LessonIds,
    Note,
    Reviewer,
    Version,
    Yes,
    confirm,
    examples,
    user_name,
)
from entrypoints.cli.said import Said
from entrypoints.cli.session import Session, Use
from entrypoints.cli.terminal import on_one_line, print_fields, print_json, remark, say
from entrypoints.cli.views import counts, lesson_sheet, log_table, queue_table

if TYPE_CHECKING:
    from entrypoints.cli.service import Service
    from entrypoints.http.lesson_wire import LessonAnswer, LogAnswer, QueueItem

app = typer.Typer(
    name="review",
    no_args_is_help=True,
    help="List, show, approve, edit, reject what awaits review.",
    epilog=EVERYWHERE,
)


@app.command(
    "list", epilog=examples({"memorygrid review list": "", "memorygrid review list --json | jq length": "how many"})
)
def list_queue(context: typer.Context, as_json: AsJson = False) -> None:
    """List the lessons that await review, longest waiting first, with the reason.

    The reason is *injected* for what has come in and nobody has seen yet; for what kept failing it is the escalation's,
    and its outcomes since the last decision stand beside it.
    """
    queue = Session.of(context).ask(lambda service: service.queue())
    if as_json:
        print_json(queue)
    else:
        queue_table(queue)


@app.command("show", epilog=examples({"memorygrid review show ID": ""}))
def show(context: typer.Context, lesson_id: LessonId, as_json: AsJson = False) -> None:
    """Show one of them in full, with the reason, the outcomes that brought it back, and its log.

    The exit code is 1 where the lesson does not await review (lessons show shows any).
    """

    async def read(service: Service) -> tuple[QueueItem, list[LogAnswer]]:
        for item in await service.queue():
            if item.id == lesson_id:
                return item, await service.log(lesson_id)
        lesson = await service.lesson(lesson_id)
        raise Failure(f"it does not await review: its status is {lesson.status.value}", ExitCode.NO)

    item, log = Session.of(context).ask(read)
    if as_json:
        print_json({"lesson": item, "log": log})
        return
    print_fields([("Reason", on_one_line(item.reason)), *([("Outcomes", counts(item))] if counts(item) else [])])
    lesson_sheet(item)
    say()
    log_table(log)


@app.command(
    "approve",
    epilog=examples(
        {
            "memorygrid review approve ID ID ID --note 'checked'": "",
            "memorygrid review approve --all": "all that await review; asks once",
            "memorygrid review approve --all --yes": "the same in a script",
        }
    ),
)
def approve(
    context: typer.Context,
    *,
    lesson_ids: Annotated[
        list[str] | None, typer.Argument(help="The lessons' ids, as the lists show them; or --all.", metavar="ID")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Approve all that await review now, each in the version that it has now.")
    ] = False,
    note: Note = None,
    reviewer: Reviewer = None,
    version: Version = None,
    yes: Yes = False,
) -> None:
    """Promote lessons: from now on they match. A disabled lesson is restored.

    Each by itself; the exit code is 1 where one could not be approved, because it does not await review or because
    somebody has changed it in the meantime.
    """
    if everything == bool(lesson_ids):
        raise Failure("name the lessons to approve, or give --all", ExitCode.USAGE)
    said = Said(reviewer=reviewer or user_name(), note=note, version=version)
    session = Session.of(context)
    said_of = dict.fromkeys(lesson_ids or (), said)
    if everything:
        queue = session.ask(lambda service: service.queue())
        said_of = {one.id: msgspec.structs.replace(said, version=one.version) for one in queue}
        if said_of and not yes:
            confirm(f"Approve all {len(said_of)} lessons that await review?")
    session.ask(lambda service: decide_all(service, Decision.APPROVE, said_of), Use.CHANGES)
    if not said_of:
        remark("nothing awaits review")


@app.command("reject", epilog=examples({"memorygrid review reject ID --note 'says nothing new'": ""}))
def reject(
    context: typer.Context, lesson_ids: LessonIds, note: Note = None, reviewer: Reviewer = None, version: Version = None
) -> None:
    """Turn lessons down: they match no more. Only an edit brings one back.

    Each by itself; the exit code is 1 where one could not be rejected.
    """
    said = Said(reviewer=reviewer or user_name(), note=note, version=version)
    said_of = dict.fromkeys(lesson_ids, said)
    Session.of(context).ask(lambda service: decide_all(service, Decision.REJECT, said_of), Use.CHANGES)


@app.command(
    "edit",
    epilog=examples(
        {
            "memorygrid review edit ID": "opens your editor ($VISUAL, else $EDITOR), shows the difference, asks",
            "memorygrid review edit ID --body-file better.md --note 'the old flag is gone' --yes": "",
        }
    ),
)
def edit(
    context: typer.Context,
    *,
    lesson_id: LessonId,
    title: content.Title = None,
    body: content.Body = None,
    body_file: content.BodyFile = None,
    tags: content.NewTags = None,
    payload: content.Payload = None,
    note: Note = None,
    reviewer: Reviewer = None,
    yes: Yes = False,
) -> None:
    """Change a lesson and promote it. Without any new content by options, your editor opens.

    Shows what is different, and asks before it is stored. Whatever its status was, the lesson matches afterwards, and
    its failures are counted anew. The exit code is 1 where nothing is different, or somebody has changed the lesson in
    the meantime; what was written in the editor is kept in a file then.
    """
    from entrypoints.cli import texts  # noqa: PLC0415 - loads YAML

    session = Session.of(context)
    lesson = session.ask(lambda service: service.lesson(lesson_id))
    before = _draft(lesson)
    by_options = any(one is not None for one in (title, body, body_file, tags, payload))
    if by_options:
        after = content.with_options(before, title=title, body=body, body_file=body_file, tags=tags, payload=payload)
    else:
        after = texts.in_editor(before)
    change = texts.changes(before, after)
    if change is None:
        raise Failure("nothing is different, so nothing is stored", ExitCode.NO)
    for line in texts.difference(before, after):
        say(line)
    if not yes:
        confirm("Store and promote this?", default=True)
    said = Said(reviewer=reviewer or user_name(), note=note, version=lesson.version)
    try:
        stored = session.ask(lambda service: service.edit(lesson_id, change, said), Use.CHANGES)
    except Failure as failure:
        raise texts.keeping(texts.editable(after), failure) from failure
    say(f"edited  {stored.id}  {on_one_line(stored.title)}")


def _draft(lesson: LessonAnswer) -> LessonDraft:
    return LessonDraft(
        bin=lesson.bin,
        title=lesson.title,
        body=lesson.body,
        tags=lesson.tags,
        dsl_payload=lesson.dsl_payload,
        source=lesson.source,
    )
