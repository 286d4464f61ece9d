"""The lessons and alerts that the project ships, for the demo."""

from __future__ import annotations

from pathlib import Path

import msgspec

from domain.learner import runbook
from domain.learner.lesson import LessonDraft
from domain.values import JsonObject

#: In an installed package the samples lie beside this file, in a checkout in `config/`.
_PLACES = (Path(__file__).parent / "config", Path(__file__).parents[2] / "config")

RULES_FILE = "dsl_match_rules.json"


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A real alert: what an agent sends to invoke, and the title of the runbook that the alert links to."""

    problem_type: str
    current_task_context: JsonObject
    lesson_title: str

    @property
    def text(self) -> str:
        return str(self.current_task_context["alert"])


def config_folder() -> Path:
    """Where `samples/` and the rules file are."""
    return next((place for place in _PLACES if (place / "samples").is_dir()), _PLACES[-1])


def lessons() -> list[LessonDraft]:
    path = config_folder() / "samples" / "runbooks.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [runbook.from_json_line(line, number, file=path.name) for number, line in enumerate(lines, start=1)]


def alerts() -> list[Alert]:
    lines = (config_folder() / "samples" / "alerts.jsonl").read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line, type=Alert) for line in lines]
