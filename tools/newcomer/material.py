"""What the newcomer brings along: lessons to import, and alerts that ought to find them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

#: A folder holds its lessons and alerts under either pair of names.
_NAMES = (("lessons.jsonl", "queries-dev.jsonl"), ("runbooks.jsonl", "alerts.jsonl"))


class Alert(NamedTuple):
    """What an agent asks with, and the title of the lesson that the alert links to."""

    problem_type: str
    context: dict[str, Any]
    title: str


class Material(NamedTuple):
    lessons: Path
    number: int
    alerts: list[Alert]


def material_in(folder: Path) -> Material:
    """Reads a folder with `lessons.jsonl` and `queries-dev.jsonl`, or the project's own samples."""
    for lessons, alerts in _NAMES:
        if (folder / lessons).is_file() and (folder / alerts).is_file():
            rows = _rows(folder / lessons)
            titles = {str(row["key"]): str(row["title"]) for row in rows if "key" in row}
            return Material(
                lessons=(folder / lessons).resolve(),
                number=len(rows),
                alerts=[_alert(row, titles) for row in _rows(folder / alerts)],
            )
    wanted = " or ".join(" and ".join(pair) for pair in _NAMES)
    raise SystemExit(f"{folder} does not hold {wanted}")


def _alert(row: dict[str, Any], titles: dict[str, str]) -> Alert:
    if "gold" in row:
        return Alert("alert", {"alert": row["query"]}, titles[row["gold"]])
    return Alert(row["problem_type"], row["current_task_context"], row["lesson_title"])


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
