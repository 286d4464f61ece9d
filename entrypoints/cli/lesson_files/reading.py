"""Lessons in files: Agent Skills folders, Markdown runbooks and JSON Lines, found below the paths that are named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from domain.errors import InvalidInput
from domain.learner import agent_skill, front_matter, runbook
from domain.learner.lesson import Bin, LessonDraft
from entrypoints.cli.lesson_files.kept import KeptFile, keeping_file
from entrypoints.cli.progress import each
from entrypoints.escaping import escaped

_SKILL = "SKILL.md"
_MARKDOWN = {".md", ".markdown"}
_JSON_LINES = {".jsonl", ".ndjson"}
_LONGEST_SOURCE = 500
_LARGEST = 64 * 1024 * 1024


class ReadLesson(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson as it was read; `origin` is the file, and for JSON Lines the line."""

    origin: str
    draft: LessonDraft


class BadFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file, or a line of one, that holds no lesson, and why."""

    origin: str
    reason: str


class LessonFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to read. `name` is its path from the named folder, which the export uses again."""

    path: Path
    name: str


def read_all(paths: Sequence[Path], *, bin: Bin, source: str) -> list[ReadLesson | BadFile]:
    """All lessons below the paths. `bin` and `source` are for those that name none."""
    read: list[ReadLesson | BadFile] = []
    for one in each(list(found_below(paths)), "Reading"):
        read += [one] if isinstance(one, BadFile) else lessons_in(one, bin=bin, source=source)
    return read


def found_below(paths: Iterable[Path]) -> Iterator[LessonFile | BadFile]:
    """The files that hold lessons, in the order of their names.

    A folder with a `SKILL.md` is one skill, whatever else lies in it. In other folders Markdown files with front
    matter are runbooks (a README is none). Hidden files and folders and symbolic links are passed over.
    """
    for path in paths:
        try:
            is_folder, is_file = path.is_dir(), path.is_file()
        except OSError as error:
            yield BadFile(origin=str(path), reason=f"cannot be read: {error.strerror}")
            continue
        if is_folder:
            yield from _in_folder(path, path)
        elif not is_file:
            yield BadFile(origin=str(path), reason="is neither a file nor a folder")
        elif path.name == _SKILL or path.suffix.lower() in _MARKDOWN | _JSON_LINES:
            yield LessonFile(path=path, name=path.name)
        else:
            yield BadFile(origin=str(path), reason=f"is no {_SKILL}, Markdown or JSON Lines file (.md, .jsonl)")


def lessons_in(file: LessonFile, *, bin: Bin, source: str) -> Iterator[ReadLesson | BadFile]:
    """Reads one file. `bin` is for lessons that name none, `source` too; where it is empty, the file's name is."""
    source = (source or escaped(file.name))[:_LONGEST_SOURCE]
    origin = str(file.path)
    try:
        text = _text(file.path)
        if file.path.name == _SKILL:
            folder = file.path.absolute().parent.name
            skill = agent_skill.parse(text, file=origin, folder=folder, bin=bin, source=source)
            yield ReadLesson(origin=origin, draft=agent_skill.keeping_head(skill))
        elif file.path.suffix.lower() in _MARKDOWN:
            yield ReadLesson(origin=origin, draft=_keeping_file(text, file, bin, source))
        else:
            yield from _rows(text, file, bin, source)
    except InvalidInput as error:
        yield BadFile(origin=origin, reason=_reason(error, origin))
    except (OSError, UnicodeDecodeError) as error:
        yield BadFile(origin=origin, reason=f"cannot be read: {error}")


def _in_folder(folder: Path, root: Path) -> Iterator[LessonFile | BadFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield BadFile(origin=str(folder), reason=f"cannot be read: {error.strerror}")
        return
    visible = [entry for entry in entries if not entry.name.startswith(".") and not entry.is_symlink()]
    skill = next((entry for entry in visible if entry.name == _SKILL and entry.is_file()), None)
    if skill is not None:
        yield _file(skill.path, root)
        return
    for entry in visible:
        path = Path(entry.path)
        if entry.is_dir():
            yield from _in_folder(path, root)
        elif entry.is_file() and _holds_lessons(path):
            yield _file(entry.path, root)


def _file(path: str, root: Path) -> LessonFile:
    return LessonFile(path=Path(path), name=Path(path).relative_to(root).as_posix())


def _holds_lessons(path: Path) -> bool:
    return path.suffix.lower() in _JSON_LINES or (path.suffix.lower() in _MARKDOWN and _has_front_matter(path))


def _has_front_matter(path: Path) -> bool:
    """Whether it begins like one; a file that cannot be opened counts, so that reading it tells why."""
    try:
        with path.open("rb") as file:
            return file.read(16).removeprefix(b"\xef\xbb\xbf").startswith(b"---")
    except OSError:
        return True


def _text(path: Path) -> str:
    with path.open("rb") as file:
        raw = file.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise InvalidInput(f"is larger than {_LARGEST} bytes")
    return raw.decode("utf-8")


def _keeping_file(text: str, file: LessonFile, bin: Bin, source: str) -> LessonDraft:
    """The runbook, with its name and its front matter kept for the export."""
    try:
        file.name.encode()
    except UnicodeEncodeError:
        raise InvalidInput("has a name that is no text in UTF-8, which is kept for the export: rename it") from None
    draft = runbook.from_markdown(text, file=str(file.path), bin=bin, source=source)
    front = front_matter.read(text, str(file.path))
    head = front.head if front is not None else text[: len(text) - len(draft.body)]
    return keeping_file(draft, KeptFile(file=file.name, head=head))


def _rows(text: str, file: LessonFile, bin: Bin, source: str) -> Iterator[ReadLesson | BadFile]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        origin = f"{file.path}, line {number}"
        try:
            draft = runbook.from_json_line(line, number, file=str(file.path), bin=bin, source=source)
            yield ReadLesson(origin=origin, draft=draft)
        except InvalidInput as error:
            yield BadFile(origin=origin, reason=_reason(error, origin))


def _reason(error: InvalidInput, origin: str) -> str:
    return error.detail.removeprefix(f"{origin}: ")
