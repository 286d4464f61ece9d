"""A lesson as a text that people edit: Markdown under a few lines of front matter, and what they have changed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

import msgspec
from rich.text import Text

from domain.errors import InvalidInput
from domain.learner import runbook
from domain.learner.front_matter import quoted
from domain.learner.lesson import LessonDraft, LessonEdit
from domain.learner.lesson_fields import json_text
from domain.values import JsonObject
from entrypoints.cli.editor import edited, kept_for_later
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.lesson_files.kept import with_kept, without_kept
from entrypoints.cli.terminal import plain

FILE_NAME = "lesson.md"

_NAME = re.compile(r"[A-Za-z][\w-]*")
_NO_PAYLOAD = """\
# dsl_payload:  # with an action, no language model is needed to apply the lesson
#   action: retry_with_backoff
#   instruction_template: "Retry {operation} with backoff"
"""


def editable(draft: LessonDraft) -> str:
    """The lesson's content as a text; `read_back` turns it into exactly the same content."""
    lines = ["---", f"title: {quoted(draft.title)}", f"tags: [{', '.join(map(quoted, draft.tags))}]"]
    payload = without_kept(draft.dsl_payload)
    shown = _NO_PAYLOAD if payload is None else "\n".join(_payload_lines(payload)) + "\n"
    return "\n".join(lines) + f"\n{shown}---\n\n{draft.body}"


def read_back(text: str, before: LessonDraft) -> LessonDraft:
    """The draft that an edited text says. Raises `Failure` with the line and the reason."""
    try:
        said = runbook.from_markdown(text, file="the edited text", bin=before.bin, source=before.source)
    except InvalidInput as error:
        raise Failure(error.detail, ExitCode.USAGE) from error
    if said.bin is not before.bin:
        raise Failure("a lesson's bin cannot be edited: reject it, and add it to the other bin", ExitCode.USAGE)
    payload = with_kept(said.dsl_payload, before.dsl_payload)
    return msgspec.structs.replace(said, dsl_payload=payload, source=before.source)


def in_editor(draft: LessonDraft) -> LessonDraft:
    """The draft as the user's editor leaves it. Raises `Failure`; what was written is not lost then."""
    before = editable(draft)
    text = edited(before, FILE_NAME)
    if text == before:
        raise Failure("the text was left as it was: nothing is stored", ExitCode.NO)
    try:
        return read_back(text, draft)
    except Failure as failure:
        raise keeping(text, failure) from failure


def keeping(text: str, failure: Failure) -> Failure:
    """The failure, with the place where a text now lies that could not be used."""
    return Failure(f"{failure.message}\nThe text is kept in {kept_for_later(text, FILE_NAME)}", failure.code)


def changes(before: LessonDraft, after: LessonDraft) -> LessonEdit | None:
    """What an edit has to send; None where nothing is different."""
    edit = LessonEdit(
        title=after.title if after.title != before.title else msgspec.UNSET,
        body=after.body if after.body != before.body else msgspec.UNSET,
        tags=after.tags if after.tags != before.tags else msgspec.UNSET,
        dsl_payload=after.dsl_payload if after.dsl_payload != before.dsl_payload else msgspec.UNSET,
    )
    return None if edit == LessonEdit() else edit


def difference(before: LessonDraft, after: LessonDraft) -> Iterator[Text]:
    """The changed lines with a little around them, as a unified diff."""
    old, new = (editable(one).splitlines() for one in (before, after))
    for line in difflib.unified_diff(old, new, "before", "after", lineterm=""):
        yield plain(line, _STYLES.get(line[:1], ""))


_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def _payload_lines(payload: JsonObject) -> Iterator[str]:
    """As a map where that is the same in JSON, since it is easier to edit."""
    if payload and all(_NAME.fullmatch(name) and isinstance(value, str) for name, value in payload.items()):
        yield "dsl_payload:"
        for name, value in payload.items():
            yield f"  {name}: {quoted(str(value))}"
    else:
        yield f"dsl_payload: {quoted(json_text(payload))}"
