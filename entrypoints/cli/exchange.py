"""`memorygrid lessons import` and `memorygrid lessons export`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from application.learner.ports import LessonFilter
from domain.learner.lesson import Bin, Status
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.lesson_files.results import Form, Imported, Result, Saved, Saving
from entrypoints.cli.options import AsJson, OfBin, OfStatus, examples
from entrypoints.cli.progress import each
from entrypoints.cli.session import Session, Use
from entrypoints.cli.terminal import print_json, remark, say
from entrypoints.escaping import escaped

_MOST_TOLD = 20


def register(app: typer.Typer) -> None:
    app.command(
        "import",
        epilog=examples(
            {
                "memorygrid lessons import runbooks/ skills/ more.jsonl": "all that these hold",
                "memorygrid lessons import runbooks/ --dry-run": "what would come of it",
                "memorygrid review approve --all": "afterwards: from then on they match",
            }
        ),
    )(import_lessons)
    app.command(
        "export",
        epilog=examples(
            {
                "memorygrid lessons export backup/": "the files that were imported, and Agent Skills for all else",
                "memorygrid lessons export out/ --format jsonl --status promoted": "one file, out/lessons.jsonl",
            }
        ),
    )(export_lessons)


def import_lessons(
    context: typer.Context,
    *,
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files, and folders with all that is below them.", metavar="PATH", show_default=False),
    ],
    bin: Annotated[Bin, typer.Option(help="The bin of lessons that name none.")] = Bin.SKILLS,
    source: Annotated[
        str, typer.Option(help="The source of lessons that name none.", show_default="the file's name")
    ] = "",
    again: Annotated[
        bool, typer.Option("--again", help="Import what was edited here since, too, as a new lesson.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be imported, and import nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import lessons from files; they wait for review then. What is there already is not imported twice.

    Takes Agent Skills (folders with a SKILL.md, checked by the specification's rules), Markdown runbooks (.md) with
    front matter (title, bin, tags, dsl_payload, source) and JSON Lines (.jsonl) with the same fields and body. In a
    folder, Markdown without front matter is passed over, as are hidden files and symbolic links. A file or a line that
    holds no lesson does not stop the others: it is reported, and the exit code is 1 in the end. What was imported once
    and edited here since is left alone, too.
    """
    from entrypoints.cli.lesson_files import importing, reading  # noqa: PLC0415 - loads YAML

    read = reading.read_all(paths, bin=bin, source=source)
    if not read:
        raise Failure("there are no lessons at these paths", ExitCode.NO)
    done = Session.of(context).ask(
        lambda service: importing.bring_in(service, read, again=again, dry_run=dry_run),
        Use.TRIES if dry_run else Use.ADDS,
    )
    if as_json:
        print_json(done)
    else:
        _report(done, dry_run=dry_run)
    failed = sum(one.result is Result.FAILED for one in done)
    if failed:
        raise Failure(f"{failed} of {len(done)} could not be imported", ExitCode.NO)


def export_lessons(
    context: typer.Context,
    *,
    folder: Annotated[
        Path, typer.Argument(help="The folder to write to; made if need be.", metavar="DIR", show_default=False)
    ],
    form: Annotated[Form, typer.Option("--format", help="The form of the files.")] = Form.AUTO,
    status: OfStatus = None,
    bin: OfBin = None,
    tag: Annotated[str | None, typer.Option(help="Only lessons with exactly this tag.", show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there and differ.")] = False,
    as_json: AsJson = False,
) -> None:
    """Export lessons to files, which another service can import.

    Other people's skills and Markdown runbooks that were imported and not changed since come back byte for byte. JSON
    Lines come back as the same lessons, without keys that are none of a lesson's; skills that another of these services
    has written, under the name and with the id that the lesson has here. Importing any of them again adds nothing.

    Without --status, all lessons that are not rejected or disabled. The format auto gives runbooks that were imported
    as Markdown files back as those, and everything else as Agent Skills; jsonl writes one file, lessons.jsonl, oldest
    first. Files that are there and differ are left alone, unless --force; the exit code is 1 then.
    One that cannot be written does not stop the others: it is reported, and the exit code is 2 in the end.
    """
    from entrypoints.cli.lesson_files import folder as on_disk  # noqa: PLC0415 - loads YAML
    from entrypoints.cli.lesson_files import writing  # noqa: PLC0415 - loads YAML

    where = LessonFilter(status=status, bin=bin, tag=tag)
    found = Session.of(context).ask(lambda service: service.lessons(where))
    kept = [one for one in reversed(found) if status or one.status not in (Status.REJECTED, Status.DISABLED)]
    saved = [on_disk.save(folder, file, force=force) for file in each(list(writing.files_of(kept, form)), "Writing")]
    if as_json:
        print_json(saved)
    else:
        _report_saved(folder, len(kept), saved)
    failed = sum(one.result is Saving.FAILED for one in saved)
    if failed:
        raise Failure(f"{failed} of {len(saved)} files could not be written", ExitCode.USAGE)
    left = sum(one.result is Saving.DIFFERS for one in saved)
    if left:
        raise Failure(f"{left} files are there and differ: --force replaces them", ExitCode.NO)


def _report(done: Sequence[Imported], *, dry_run: bool) -> None:
    told = [one for one in done if one.reason is not None]
    for one in told[:_MOST_TOLD]:
        remark(
            f"{escaped(one.origin)}: {escaped(one.reason or '')}", "red" if one.result is Result.FAILED else "yellow"
        )
    if len(told) > _MOST_TOLD:
        remark(f"and {len(told) - _MOST_TOLD} more (--json tells of each)")
    count = Counter(one.result for one in done)
    say(
        f"{count[Result.IMPORTED]} {'would be ' if dry_run else ''}imported, {count[Result.KNOWN]} known already, "
        f"{count[Result.EDITED_HERE]} edited here, {count[Result.FAILED]} failed"
    )
    if count[Result.IMPORTED] and not dry_run:
        remark("They wait for review: memorygrid review list")


def _report_saved(folder: Path, lessons: int, saved: Sequence[Saved]) -> None:
    for one in saved:
        if one.result is Saving.DIFFERS:
            remark(f"{escaped(one.path)}: is there and differs", "yellow")
        elif one.reason is not None:
            remark(f"{escaped(one.path)}: {escaped(one.reason)}", "red")
    count = Counter(one.result for one in saved)
    say(
        f"{lessons} lessons in {len(saved)} files below {escaped(str(folder))}: {count[Saving.WRITTEN]} written, "
        f"{count[Saving.UNCHANGED]} unchanged, {count[Saving.DIFFERS]} left alone"
        + (f", {count[Saving.FAILED]} failed" if count[Saving.FAILED] else "")
    )
