"""What becomes of lessons on their way in, and of files on their way out."""

from __future__ import annotations

from enum import Enum

import msgspec


class Form(str, Enum):
    """`auto`: runbooks that were imported as Markdown files as those, everything else as Agent Skills."""

    AUTO = "auto"
    SKILLS = "skills"
    MARKDOWN = "markdown"
    JSON_LINES = "jsonl"


class Result(str, Enum):
    IMPORTED = "imported"
    KNOWN = "known"
    EDITED_HERE = "edited_here"
    FAILED = "failed"


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one lesson in a file. `lesson_id` is None where none was stored or found."""

    origin: str
    result: Result
    lesson_id: str | None = None
    reason: str | None = None


class Saving(str, Enum):
    """`differs`: something else is there, and was left alone. `failed`: nothing can be written there."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    DIFFERS = "differs"
    FAILED = "failed"


class Saved(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    path: str
    result: Saving
    reason: str | None = None
