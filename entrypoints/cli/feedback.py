"""`memorygrid feedback`: what was selected, how it went, and the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from application.feedback.ports import EntryFilter
from domain.feedback.entry import ResultFlag
from entrypoints.cli.failures import Failure
from entrypoints.cli.options import EVERYWHERE, AsJson, Limit, OfLesson, examples
from entrypoints.cli.session import Session
from entrypoints.cli.terminal import moment, on_one_line, print_json, print_table, remark

if TYPE_CHECKING:
    from application.feedback.queries import UsageMetrics
    from domain.feedback.metrics import Usage
    from entrypoints.cli.service import Service

app = typer.Typer(
    name="feedback",
    no_args_is_help=True,
    help="List feedback entries, and show the numbers.",
    epilog=EVERYWHERE,
)


@app.command("list", epilog=examples({"memorygrid feedback list --result failure --lesson ID -n 10": ""}))
def list_entries(
    context: typer.Context,
    *,
    lesson: OfLesson = None,
    session_id: Annotated[
        str | None,
        typer.Option(
            "--session", help="Only those of this session, as the agent has named it.", metavar="ID", show_default=False
        ),
    ] = None,
    result: Annotated[
        ResultFlag | None,
        typer.Option(
            "--result",
            help="Only those with this result; pending is what nobody has reported on yet.",
            show_default=False,
        ),
    ] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List feedback entries, newest first: each selection of a lesson, and what became of it."""
    where = EntryFilter(lesson_skill_id=lesson, session_id=session_id, result_flag=result)
    found = Session.of(context).ask(lambda service: service.entries(where, limit), of_feedback=True)
    if as_json:
        print_json(found)
        return
    rows = [
        (
            moment(one.timestamp),
            one.result_flag.value,
            on_one_line(str(one.selection_query.get("problem_type", ""))),
            one.matcher_used,
            on_one_line(one.session_id),
            on_one_line(one.problem_solving_step_ref),
            one.lesson_skill_id,
        )
        for one in found
    ]
    print_table(["At (UTC)", "Result", "Problem", "Matcher", "Session", "Step", "Lesson"], rows, whole=["Lesson"])
    if len(found) == limit:
        remark(f"There may be more than these {limit}: --limit shows them.")


@app.command(
    "stats",
    epilog=examples(
        {"memorygrid feedback stats": "", "memorygrid feedback stats ID --json": "one lesson, for a script"}
    ),
)
def stats(
    context: typer.Context,
    lesson: Annotated[
        str | None, typer.Argument(help="Only the numbers of the lesson of this id.", metavar="ID", show_default=False)
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Show so many lessons, those used most; --json has all.", min=1)
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show how often lessons were used and how they did: the most used ones, and all together.

    A use counts 1, and every report on it 1 more. The success rate is of what was reported; empty where nothing was.
    """

    async def read(service: Service) -> tuple[UsageMetrics, dict[str, str]]:
        usage = await service.usage(lesson)
        shown = [] if as_json else _most_used(usage)[:limit]
        return usage, {one: await _title(service, one) for one, _ in shown}

    usage, titles = Session.of(context).ask(read, of_feedback=True)
    if as_json:
        print_json(usage)
        return
    rows = [(titles[one], *_numbers(of_one), one) for one, of_one in _most_used(usage)[:limit]]
    everything = (f"all {len(usage.by_lesson)} lessons", *_numbers(usage.overall), "")
    columns = ["Lesson", "Uses and reports", "Success", "Failure", "Pending", "Success rate", "Id"]
    print_table(columns, [*rows, everything], whole=["Id"])


def _most_used(usage: UsageMetrics) -> list[tuple[str, Usage]]:
    return sorted(usage.by_lesson.items(), key=lambda item: (-item[1].usage_count, item[0]))


async def _title(service: Service, lesson_id: str) -> str:
    """The lesson's title; what the key may not read, or what has been erased, has none."""
    try:
        return on_one_line((await service.lesson(lesson_id)).title)
    except Failure:
        return "?"


def _numbers(usage: Usage) -> tuple[str, ...]:
    rate = "" if usage.success_rate is None else f"{usage.success_rate:.1%}"
    return (str(usage.usage_count), str(usage.success), str(usage.failure), str(usage.pending), rate)
