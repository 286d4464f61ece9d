"""`memorygrid lessons`: what there is, adding to it, and taking out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from application.learner.ports import LessonFilter
from domain.learner.lesson import Bin, Decision, LessonDraft
from entrypoints.cli import content
from entrypoints.cli.decisions import decide_all, one_by_one
from entrypoints.cli.options import (
    EVERYWHERE,
    AsJson,
    LessonId,
    LessonIds,
    Limit,
    Note,
    OfBin,
    OfStatus,
    Reviewer,
    Yes,
    confirm,
    examples,
    user_name,
)
from entrypoints.cli.said import Said
from entrypoints.cli.session import Session, Use
from entrypoints.cli.terminal import on_one_line, print_json, remark, say
from entrypoints.cli.views import lesson_sheet, lesson_table, log_table

if TYPE_CHECKING:
    from entrypoints.cli.service import Service
    from entrypoints.http.lesson_wire import LessonAnswer, LogAnswer

app = typer.Typer(
    name="lessons",
    no_args_is_help=True,
    help="List, show, add, import, export, disable, erase lessons.",
    epilog=EVERYWHERE,
)


@app.command(
    "list",
    epilog=examples(
        {
            "memorygrid lessons list --status promoted": "what matches now",
            "memorygrid lessons list -q crashloop --json | jq -r '.[].id'": "ids, for other commands",
        }
    ),
)
def list_lessons(
    context: typer.Context,
    *,
    status: OfStatus = None,
    bin: OfBin = None,
    tag: Annotated[str | None, typer.Option(help="Only lessons with exactly this tag.", show_default=False)] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            "-q",
            help="Only lessons whose title or body holds this text, whatever its case.",
            show_default=False,
        ),
    ] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List lessons, newest first."""
    where = LessonFilter(status=status, bin=bin, tag=tag, text=query)
    found = Session.of(context).ask(lambda service: service.lessons(where, limit))
    if as_json:
        print_json(found)
        return
    lesson_table(found)
    if len(found) == limit:
        remark(f"There may be more than these {limit}: --limit shows them.")


@app.command("show", epilog=examples({"memorygrid lessons show 01a2…c9e71 --log": "the id in full"}))
def show(
    context: typer.Context,
    lesson_id: LessonId,
    log: Annotated[bool, typer.Option("--log", help="Show its log, too: what happened to it, when, by whom.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one lesson in full. The exit code is 1 where no lesson has this id."""

    async def read(service: Service) -> tuple[LessonAnswer, list[LogAnswer]]:
        return await service.lesson(lesson_id), await service.log(lesson_id) if log else []

    lesson, entries = Session.of(context).ask(read)
    if as_json:
        print_json({"lesson": lesson, "log": entries} if log else lesson)
        return
    lesson_sheet(lesson)
    if log:
        say()
        log_table(entries)


@app.command(
    "add",
    epilog=examples(
        {
            "memorygrid lessons add": "opens your editor ($VISUAL, else $EDITOR) on an empty lesson",
            "memorygrid lessons add --title 'Pricing tiers' --body-file tiers.md --bin knowledge_base": "",
            "memorygrid lessons add --title 'Retry uploads' --body 'Retry with backoff.' "
            '--payload \'{"action": "retry", "instruction_template": "Retry {operation}"}\'': "",
        }
    ),
)
def add(
    context: typer.Context,
    *,
    title: content.Title = None,
    body: content.Body = None,
    body_file: content.BodyFile = None,
    tags: content.Tags = None,
    payload: content.Payload = None,
    bin: Annotated[
        Bin,
        typer.Option(
            help="Where it goes once it is promoted: skills_base says what to do, knowledge_base what to know."
        ),
    ] = Bin.SKILLS,
    source: Annotated[
        str, typer.Option(help="Where it comes from, as people are told.", show_default="your user name")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Add a lesson, which then waits for review. Without a title or a text, your editor opens."""
    draft = LessonDraft(bin=bin, title="", body="", source=source or user_name() or "")
    draft = content.with_options(draft, title=title, body=body, body_file=body_file, tags=tags, payload=payload)
    if not draft.title or not draft.body:
        from entrypoints.cli import texts  # noqa: PLC0415 - loads YAML

        draft = texts.in_editor(draft)
    added = Session.of(context).ask(lambda service: service.inject([draft]), Use.ADDS)[0]
    if as_json:
        print_json(added)
    else:
        say(f"added  {added.id}  {on_one_line(added.title)}")
        remark(f"It waits for review: memorygrid review approve {added.id}")


@app.command("disable", epilog=examples({"memorygrid lessons disable ID ID --note 'the tool is gone'": ""}))
def disable(context: typer.Context, lesson_ids: LessonIds, note: Note = None, reviewer: Reviewer = None) -> None:
    """Take lessons out of matching until they are approved again (review approve).

    Each by itself; the exit code is 1 where one could not be disabled.
    """
    said = Said(reviewer=reviewer or user_name(), note=note)
    said_of = dict.fromkeys(lesson_ids, said)
    Session.of(context).ask(lambda service: decide_all(service, Decision.DISABLE, said_of), Use.CHANGES)


@app.command("erase", epilog=examples({"memorygrid lessons erase ID --yes": "without the question, for scripts"}))
def erase(context: typer.Context, lesson_ids: LessonIds, yes: Yes = False) -> None:
    """Erase lessons for good: content, promoted copy, vectors, file, and the content of their log.

    Needs a key of the role admin. What they did stays in the feedback's numbers. Each by itself; the exit code is 1
    where one could not be erased.
    """
    if not yes:
        confirm(f"Erase {len(lesson_ids)} lessons for good?")

    async def work(service: Service) -> None:
        async def erase_one(lesson_id: str) -> str:
            await service.erase(lesson_id)
            return lesson_id

        await one_by_one(lesson_ids, erase_one, "erased")

    Session.of(context).ask(work, Use.CHANGES)
