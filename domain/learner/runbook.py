"""Lessons in files that people write and services exchange: Markdown runbooks and JSON Lines, both ways.

A runbook is Markdown, usually with front matter of which `title`, `bin`, `tags`, `dsl_payload` (a map, or JSON text)
and `source` are read; other keys are no error. A row of JSON Lines is an object with the same fields and `body`; the
service's own exports are such rows, and whatever else they hold is left out.
"""

from __future__ import annotations

import msgspec

from domain.errors import FieldError
from domain.json_values import half_in_json
from domain.learner import draft as rules
from domain.learner import front_matter, markdown
from domain.learner.front_matter import Fields, quoted
from domain.learner.lesson import Bin, LessonDraft, naming_bins
from domain.learner.lesson_fields import bin_of, dsl_payload_of, json_text, tags_of
from domain.values import JsonObject


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    body: str
    bin: Bin | None = None
    tags: tuple[str, ...] | None = None
    dsl_payload: JsonObject | None = None
    source: str | None = None


def from_markdown(text: str, *, file: str = "runbook.md", bin: Bin = Bin.SKILLS, source: str = "") -> LessonDraft:
    """Reads a runbook; its title is the front matter's `title`, else the first heading of the body.

    `bin` and `source` are for a file that names none. Raises `InvalidInput` that names `file`, line and reason.
    """
    front = front_matter.read(text, file) or front_matter.FrontMatter("", text.removeprefix("\ufeff"), Fields(None, []))
    fields = front.fields
    title = fields.text("title") or markdown.first_heading(front.body)
    if not title:
        fields.refuse("title", "is missing, and the text has no heading")
    draft = LessonDraft(
        bin=bin_of(fields, bin),
        title=title,
        body=front.body,
        tags=tags_of(fields),
        dsl_payload=dsl_payload_of(fields),
        source=fields.text("source") or source,
    )
    problems = fields.problems or rules.problems(draft)
    if problems:
        raise front_matter.refusal(file, problems)
    return draft


def to_markdown(draft: LessonDraft) -> str:
    """The runbook that `from_markdown` turns back into exactly this draft."""
    lines = [f"title: {quoted(draft.title)}", f"bin: {draft.bin.value}"]
    if draft.tags:
        lines.append(f"tags: [{', '.join(map(quoted, draft.tags))}]")
    if draft.dsl_payload is not None:
        lines.append(f"dsl_payload: {quoted(json_text(draft.dsl_payload))}")
    if draft.source:
        lines.append(f"source: {quoted(draft.source)}")
    return "\n".join(["---", *lines, "---", "", draft.body])


def from_json_line(
    line: str, number: int, *, file: str = "lessons.jsonl", bin: Bin = Bin.SKILLS, source: str = ""
) -> LessonDraft:
    """Reads the row on line `number` (from 1) of `file`; `bin` and `source` are for a row that names none.

    Raises `InvalidInput` that names `file`, line and reason.
    """
    place = f"{file}, line {number}"
    try:
        line = line.removeprefix("\ufeff")
        row = msgspec.json.decode(line, type=_Row)
    except (ValueError, RecursionError) as error:
        raise front_matter.refusal(place, [FieldError("row", half_in_json(line) or naming_bins(str(error)))]) from error
    draft = LessonDraft(
        bin=row.bin or bin,
        title=row.title,
        body=row.body,
        tags=row.tags or (),
        dsl_payload=row.dsl_payload,
        source=source if row.source is None else row.source,
    )
    problems = rules.problems(draft)
    if problems:
        raise front_matter.refusal(place, problems)
    return draft


def to_json_line(draft: LessonDraft) -> str:
    """The row that `from_json_line` turns back into exactly this draft, without a line end."""
    return msgspec.json.encode(draft).decode()
