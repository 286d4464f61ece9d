"""A lesson's content as options give it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from domain.learner.lesson import LessonDraft
from domain.values import JsonObject
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.lesson_files.kept import with_kept
from entrypoints.escaping import escaped

Title = Annotated[
    str | None, typer.Option("--title", help="The lesson's title: one line of 1 to 500 characters.", show_default=False)
]
Body = Annotated[str | None, typer.Option("--body", help="The lesson's text, in Markdown.", show_default=False)]
BodyFile = Annotated[
    Path | None, typer.Option("--body-file", help="The file that holds the text, in UTF-8; - is standard input.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.", show_default=False)]
NewTags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag", help="A tag; may be repeated. All that are given replace those that there are.", show_default=False
    ),
]
Payload = Annotated[
    str | None,
    typer.Option(
        "--payload",
        help="The dsl_payload, a JSON object; null for none. With an action and an instruction_template in it, no "
        "language model is needed to apply the lesson.",
        metavar="JSON",
        show_default=False,
    ),
]


def with_options(
    draft: LessonDraft,
    *,
    title: str | None,
    body: str | None,
    body_file: Path | None,
    tags: list[str] | None,
    payload: str | None,
) -> LessonDraft:
    """The draft with whatever was given in place of its own. Raises `Failure`."""
    if body is not None and body_file is not None:
        raise Failure("give --body or --body-file, not both", ExitCode.USAGE)
    text = body if body_file is None else _read(body_file)
    return msgspec.structs.replace(
        draft,
        title=draft.title if title is None else title,
        body=draft.body if text is None else text,
        tags=draft.tags if tags is None else tuple(tags),
        dsl_payload=draft.dsl_payload if payload is None else with_kept(_payload(payload), draft.dsl_payload),
    )


def _payload(text: str) -> JsonObject | None:
    try:
        return msgspec.json.decode(text, type=JsonObject | None)
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        raise Failure(f"--payload is not a JSON object: {error}", ExitCode.USAGE) from error


def _read(file: Path) -> str:
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{escaped(str(file))} cannot be read: {error}", ExitCode.USAGE) from error
