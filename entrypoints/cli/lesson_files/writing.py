"""Lessons back into files: each in the form in which it came, or all of them in one form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec

from domain.errors import InvalidInput
from domain.learner import agent_skill, runbook
from domain.learner.lesson import LessonDraft, PromotedLesson
from entrypoints.cli.lesson_files.kept import kept_file, without_file, without_kept
from entrypoints.cli.lesson_files.results import Form
from entrypoints.http.lesson_wire import LessonAnswer


class WrittenFile(msgspec.Struct, frozen=True):
    """A file's path below the folder, and its text."""

    name: str
    text: str


def files_of(lessons: Sequence[LessonAnswer], form: Form) -> Iterator[WrittenFile]:
    """The lessons as files, no two with one name; `lessons` in the order that JSON Lines have."""
    if form is Form.JSON_LINES:
        rows = [json.dumps(msgspec.to_builtins(_draft(one)), ensure_ascii=False) + "\n" for one in lessons]
        yield WrittenFile("lessons.jsonl", "".join(rows))
        return
    taken: set[str] = set()
    for lesson in lessons:
        original = _original(lesson)
        as_markdown = form is Form.MARKDOWN or (form is Form.AUTO and original is not None)
        file = (original or _markdown(lesson)) if as_markdown else _skill(lesson)
        if file.name in taken:
            file = _markdown(lesson) if as_markdown else _own_skill(lesson)
        taken.add(file.name)
        yield file


def _draft(lesson: LessonAnswer) -> LessonDraft:
    return LessonDraft(
        bin=lesson.bin,
        title=lesson.title,
        body=lesson.body,
        tags=lesson.tags,
        dsl_payload=lesson.dsl_payload,
        source=lesson.source,
    )


def _own(lesson: LessonAnswer) -> LessonDraft:
    """The lesson's content without what an import has kept."""
    return msgspec.structs.replace(_draft(lesson), dsl_payload=without_kept(lesson.dsl_payload))


def _skill(lesson: LessonAnswer) -> WrittenFile:
    name, text = agent_skill.export(_copy(lesson))
    return WrittenFile(f"{name}/SKILL.md", text)


def _own_skill(lesson: LessonAnswer) -> WrittenFile:
    copy = msgspec.structs.replace(_copy(lesson), dsl_payload=without_kept(lesson.dsl_payload))
    return WrittenFile(f"{agent_skill.skill_name(copy.title, copy.id)}/SKILL.md", agent_skill.render(copy))


def _copy(lesson: LessonAnswer) -> PromotedLesson:
    """As it is promoted now, or would be."""
    return PromotedLesson(
        id=lesson.id,
        bin=lesson.bin,
        title=lesson.title,
        body=lesson.body,
        tags=lesson.tags,
        dsl_payload=without_file(lesson.dsl_payload),
        version=lesson.version,
        review_round=lesson.review_round,
        promoted_at=lesson.updated_at,
    )


def _markdown(lesson: LessonAnswer) -> WrittenFile:
    return WrittenFile(f"{agent_skill.skill_name(lesson.title, lesson.id)}.md", runbook.to_markdown(_own(lesson)))


def _original(lesson: LessonAnswer) -> WrittenFile | None:
    """The Markdown file that was imported, byte for byte while the lesson is what it says; else in our own spelling.

    None where the lesson came in another way.
    """
    kept = kept_file(lesson.dsl_payload)
    if kept is None:
        return None
    own = _own(lesson)
    try:
        said = runbook.from_markdown(kept.head + lesson.body, bin=lesson.bin, source=lesson.source)
    except InvalidInput:
        said = None
    return WrittenFile(kept.file, kept.head + lesson.body if said == own else runbook.to_markdown(own))
