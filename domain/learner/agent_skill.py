"""A lesson as a file of the open Agent Skills format (https://agentskills.io/specification): `SKILL.md`, and back.

A file is YAML front matter (`name`, `description`, `metadata`) and the lesson's body. Ours carries the whole promoted
copy in `metadata`, a map from texts to texts, so that it comes back exactly as it was. Other people's files are read
by the specification's rules; keys that it does not know are no error. Their title is `metadata.title`, else the first
heading of the body, else the name.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

import msgspec

from domain.errors import FieldError, InvalidInput
from domain.learner import draft as rules
from domain.learner import front_matter, markdown
from domain.learner.front_matter import Fields, quoted
from domain.learner.kept_head import KEPT, kept_head
from domain.learner.lesson import Bin, LessonDraft, PromotedLesson
from domain.learner.lesson_fields import bin_of, dsl_payload_of, json_text, tags_of

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1_024
LONGEST_COMPATIBILITY = 500

_OWN_ID = re.compile(r'^  id: "([^"\\]+)"\r?$', re.MULTILINE)
_OWN_ROUND = re.compile(r'^  review_round: "\d+"\r?$', re.MULTILINE)


class SkillFile(msgspec.Struct, frozen=True, kw_only=True):
    """A `SKILL.md` as it was read. `head` is its text up to the body: `head + draft.body` is the file."""

    draft: LessonDraft
    name: str
    description: str
    metadata: dict[str, str]
    head: str


def skill_name(title: str, lesson_id: str, attempt: int = 0) -> str:
    """The name of the lesson's skill and of its folder: a slug of the title and `digest(lesson_id, attempt)`.

    At most 64 of `[a-z0-9-]`. Letters outside a-z that have no base letter there are left out, so the slug of a title
    may be empty; the name then starts with `lesson`.
    """
    suffix = "-" + digest(lesson_id, attempt)
    base = unicodedata.normalize("NFKD", title).casefold()
    ascii_only = "".join(character for character in base if not unicodedata.combining(character))
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")[: LONGEST_NAME - len(suffix)].rstrip("-")
    return (slug or "lesson") + suffix


def digest(lesson_id: str, attempt: int = 0) -> str:
    """8 hex digits that tell skills of one title apart; a later `attempt` gives others, should a name be taken."""
    seed = lesson_id if attempt == 0 else f"{lesson_id}#{attempt}"
    return hashlib.sha256(seed.encode()).hexdigest()[:8]


def render(copy: PromotedLesson, attempt: int = 0) -> str:
    """The promoted copy as the text of a `SKILL.md`; the body stands in it byte for byte."""
    metadata = {
        "id": copy.id,
        "bin": copy.bin.value,
        "title": copy.title,
        "tags": json_text(copy.tags),
        "dsl_payload": json_text(copy.dsl_payload),
        "version": str(copy.version),
        "review_round": str(copy.review_round),
        "promoted_at": copy.promoted_at.isoformat().replace("+00:00", "Z"),
    }
    lines = [
        "---",
        f"name: {skill_name(copy.title, copy.id, attempt)}",
        f"description: {quoted(describe(copy.title, copy.body))}",
        "metadata:",
        *(f"  {key}: {quoted(value)}" for key, value in metadata.items()),
        "---",
        "",
    ]
    return "\n".join(lines) + "\n" + copy.body


def describe(title: str, body: str) -> str:
    """What the skill is about, on one line: the title and the first paragraph.

    At most 1,024 characters, never empty, and without angle brackets, which several readers of the format refuse.
    """
    parts = (title, markdown.first_paragraph(body[: 16 * LONGEST_DESCRIPTION]))
    plain = (" ".join(re.sub(r"[<>]", " ", part).split()).rstrip(".") for part in parts)
    text = ". ".join(part for part in plain if part)
    if len(text) > LONGEST_DESCRIPTION:
        text = text[: LONGEST_DESCRIPTION - 1].rsplit(" ", 1)[0] + "…"
    return text or "A lesson learned"


def parse(
    text: str, *, file: str = "SKILL.md", folder: str | None = None, bin: Bin = Bin.SKILLS, source: str = ""
) -> SkillFile:
    """Reads a `SKILL.md`, ours or anybody's. `bin` is for a file that names none, `source` goes into the draft.

    With `folder`, the name of the folder that the file lies in, the skill's name must be the same, as the
    specification says. Raises `InvalidInput` that names `file` and, for each problem, the key, the line and the reason.
    """
    front = front_matter.read(text, file)
    if front is None:
        missing = FieldError("front matter", "line 1: a skill must start with a line of three hyphens")
        raise front_matter.refusal(file, [missing])
    fields, metadata = front.fields, front.fields.map("metadata")
    name, description = _name(fields, folder), _description(fields)
    _check_optional(fields)
    draft = LessonDraft(
        bin=bin_of(metadata, bin),
        title=_title(metadata, front.body, name),
        body=front.body,
        tags=tags_of(metadata),
        dsl_payload=dsl_payload_of(metadata),
        source=source,
    )
    texts = metadata.texts_by_name()
    problems = [*fields.problems, *rules.problems(draft)]
    if problems:
        raise front_matter.refusal(file, problems)
    return SkillFile(draft=draft, name=name, description=description, metadata=texts, head=front.head)


def lesson_id(beginning: str) -> str | None:
    """The id of the lesson that a `SKILL.md` of ours belongs to; None where it is not one.

    Looks at the text only, so the first kilobytes of a file are enough.
    """
    if not beginning.startswith("---"):
        return None
    found = _OWN_ID.search(beginning.split("\n---", 1)[0])
    return None if found is None else found[1]


def keeping_head(skill: SkillFile) -> LessonDraft:
    """The draft of somebody else's skill, with the file's head kept in its `dsl_payload` for `export`.

    There is no `action` in it, so the lesson is applied as if it had no payload. A skill of ours needs no such thing:
    what its head says is all in the lesson.
    """
    if lesson_id(skill.head) is not None and _OWN_ROUND.search(skill.head):
        return skill.draft
    payload = skill.draft.dsl_payload or {}
    if KEPT in payload:  # the skill's own
        return skill.draft
    return msgspec.structs.replace(skill.draft, dsl_payload={**payload, KEPT: {"head": skill.head}})


def export(copy: PromotedLesson) -> tuple[str, str]:
    """The skill's name and its `SKILL.md`: the imported file byte for byte while the lesson is what it says."""
    payload = dict(copy.dsl_payload or {})
    head = kept_head(payload)
    if head is None:
        return skill_name(copy.title, copy.id), render(copy)
    del payload[KEPT]
    without = msgspec.structs.replace(copy, dsl_payload=payload or None)
    original = _unchanged(head + copy.body, without)
    if original is not None:
        return original.name, original.head + copy.body
    return skill_name(copy.title, copy.id), render(without)


def _unchanged(text: str, copy: PromotedLesson) -> SkillFile | None:
    try:
        skill = parse(text, bin=copy.bin)
    except InvalidInput:
        return None
    said = skill.draft
    same = (said.bin, said.title, said.body, said.tags, said.dsl_payload) == (
        copy.bin,
        copy.title,
        copy.body,
        copy.tags,
        copy.dsl_payload,
    )
    return skill if same else None


def _name(fields: Fields, folder: str | None) -> str:
    """Unicode letters and digits are allowed, as in the specification's own validator, but no capitals."""
    name = unicodedata.normalize("NFKC", fields.required("name"))
    if not name:
        return ""
    if len(name) > LONGEST_NAME:
        fields.refuse("name", f"must be at most {LONGEST_NAME} characters")
    elif name != name.lower() or not all(part.isalnum() for part in name.split("-")):
        fields.refuse("name", "must be lower-case letters and digits with single hyphens between them")
    elif folder is not None and name != unicodedata.normalize("NFKC", folder):
        fields.refuse("name", f"must be the name of its folder, {folder}")
    return name


def _description(fields: Fields) -> str:
    description = fields.required("description")
    if len(description) > LONGEST_DESCRIPTION:
        fields.refuse("description", f"must be at most {LONGEST_DESCRIPTION:,} characters")
    return description


def _check_optional(fields: Fields) -> None:
    fields.text("license")
    compatibility = fields.text("compatibility")
    if compatibility is not None and not 0 < len(compatibility) <= LONGEST_COMPATIBILITY:
        fields.refuse("compatibility", f"must be 1 to {LONGEST_COMPATIBILITY} characters")
    if fields.texts("allowed-tools") is None:
        fields.text("allowed-tools")


def _title(metadata: Fields, body: str, name: str) -> str:
    given = metadata.text("title")
    if given is not None:
        return given
    heading = markdown.first_heading(body)
    return heading if rules.is_title(heading) else name
