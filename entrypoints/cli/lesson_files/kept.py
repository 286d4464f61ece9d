"""What an import keeps in a lesson's `dsl_payload` so that the export gives the same file back.

`agent_skill` is `{"head": text}`, as `domain.learner.kept_head` tells, and `runbook` is
`{"file": name, "head": text}`. It has no `action`, so a lesson is applied as if it were not there; people who edit a
lesson do not see it. What bears these names and is of another shape is the lesson's own.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import msgspec

from domain.learner.kept_head import KEPT, kept_head
from domain.learner.lesson import LessonDraft
from domain.values import JsonObject

_RUNBOOK = "runbook"
_PART = re.compile(r"[^\x00-\x1f\x7f-\x9f/\\:.][^\x00-\x1f\x7f-\x9f/\\:]{0,250}")


class KeptFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Markdown file that a lesson came in: its name below the folder, and its text up to the body."""

    file: str
    head: str


def keeping_file(draft: LessonDraft, kept: KeptFile) -> LessonDraft:
    """The draft with its file kept, if nothing of its own stands in the place and the name is one to write to."""
    payload = draft.dsl_payload or {}
    if _RUNBOOK in payload or not _is_safe(kept.file):
        return draft
    return msgspec.structs.replace(draft, dsl_payload={**payload, _RUNBOOK: msgspec.structs.asdict(kept)})


def kept_file(payload: JsonObject | None) -> KeptFile | None:
    """The file that an import has kept; None where there is none, as anybody may have injected what looks alike."""
    try:
        kept = msgspec.convert((payload or {}).get(_RUNBOOK), KeptFile)
    except msgspec.ValidationError:
        return None
    return kept if _is_safe(kept.file) else None


def without_file(payload: JsonObject | None) -> JsonObject | None:
    """The payload without the file that was kept; None where there is nothing else."""
    return payload if kept_file(payload) is None else _without(payload, {_RUNBOOK})


def without_kept(payload: JsonObject | None) -> JsonObject | None:
    """The payload that is the lesson's own; None where there is no other."""
    names = _kept(payload)
    return _without(payload, set(names)) if names else payload


def with_kept(own: JsonObject | None, before: JsonObject | None) -> JsonObject | None:
    """An edited payload together with what was kept in the one before, unless its own stands in the place."""
    kept = _kept(before)
    return {**kept, **(own or {})} if kept else own


def _kept(payload: JsonObject | None) -> JsonObject:
    kept: JsonObject = {}
    if payload and kept_head(payload) is not None:
        kept[KEPT] = payload[KEPT]
    if payload and kept_file(payload) is not None:
        kept[_RUNBOOK] = payload[_RUNBOOK]
    return kept


def _without(payload: JsonObject | None, names: set[str]) -> JsonObject | None:
    return {name: value for name, value in (payload or {}).items() if name not in names} or None


def _is_safe(name: str) -> bool:
    """Whether a file name, which anybody could have injected, stays below the folder and is Markdown."""
    path = PurePosixPath(name)
    return path.suffix.lower() in (".md", ".markdown") and all(_PART.fullmatch(part) for part in path.parts)
