"""The samples that the project ships are well-formed and fit together."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from adapters.embedders.hashing_embedder import HashingEmbedder
from domain.incorporator.rules import parse_rules
from domain.incorporator.template import fill
from domain.learner import agent_skill, runbook
from domain.learner.lesson import Bin, LessonDraft
from domain.values import CallerId, JsonObject

CONFIG = Path(__file__).parents[3] / "config"
SAMPLES = CONFIG / "samples"
DOCUMENTED = {"flaky_upload", "pricing_question"}


class Alert(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    problem_type: CallerId
    current_task_context: JsonObject
    lesson_title: str


def lessons() -> list[LessonDraft]:
    path = SAMPLES / "runbooks.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [runbook.from_json_line(line, number, file=str(path)) for number, line in enumerate(lines, 1)]


def alerts() -> list[Alert]:
    lines = (SAMPLES / "alerts.jsonl").read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line, type=Alert) for line in lines]


def lesson_of(alert: Alert) -> LessonDraft:
    (lesson,) = (lesson for lesson in lessons() if lesson.title == alert.lesson_title)
    return lesson


def test_about_twenty_lessons_are_shipped_each_once_and_most_of_them_skills() -> None:
    titles = [lesson.title for lesson in lessons()]
    assert 18 <= len(titles) == len(set(titles)) <= 24
    skills = [lesson for lesson in lessons() if lesson.bin is Bin.SKILLS]
    assert len(titles) / 2 < len(skills) < len(titles)
    assert all("## Mitigation" in lesson.body for lesson in skills)


def test_every_sample_lesson_names_its_source_and_has_tags() -> None:
    assert {lesson.source for lesson in lessons()} == {"prometheus-operator/runbooks"}
    assert all(lesson.tags for lesson in lessons())
    notice = (SAMPLES / "NOTICE.md").read_text(encoding="utf-8")
    for named in ("prometheus-operator/runbooks", "prometheus-operator/kube-prometheus", "Apache License 2.0"):
        assert named in notice
    assert f"holds {len(lessons())} runbooks" in notice


def test_about_a_third_of_the_lessons_are_deterministic() -> None:
    payloads = [lesson.dsl_payload for lesson in lessons() if lesson.dsl_payload is not None]
    assert 0.25 <= len(payloads) / len(lessons()) <= 0.4
    for payload in payloads:
        assert set(payload) == {"action", "instruction_template"}
        assert all(isinstance(value, str) and value for value in payload.values())


def test_every_alert_points_to_a_sample_lesson_and_fills_its_template() -> None:
    assert len(alerts()) >= 10
    for alert in alerts():
        assert alert.current_task_context["alert"]
        lesson = lesson_of(alert)
        assert alert.problem_type in lesson.tags
        if lesson.dsl_payload is not None:
            template = str(lesson.dsl_payload["instruction_template"])
            assert "{" in template
            assert "{" not in fill(template, alert.current_task_context)


def test_every_deterministic_lesson_has_an_alert() -> None:
    of_alerts = {alert.lesson_title for alert in alerts()}
    assert {lesson.title for lesson in lessons() if lesson.dsl_payload is not None} <= of_alerts


def test_every_rule_for_an_alert_finds_exactly_its_lesson_by_its_text() -> None:
    """Rules that somebody has added for other types are none of ours."""
    path = CONFIG / "dsl_match_rules.json"
    rules = parse_rules(path.read_bytes(), path.name).all
    by_type = {alert.problem_type: alert for alert in alerts()}
    assert {rule.problem_type for rule in rules} >= DOCUMENTED
    of_alerts = [rule for rule in rules if rule.problem_type in by_type]
    assert len(of_alerts) >= 8
    for rule in of_alerts:
        holding = [
            each.title
            for each in lessons()
            if each.bin is rule.target_bin and rule.lookup.casefold() in f"{each.title}\n{each.body}".casefold()
        ]
        assert holding == [lesson_of(by_type[rule.problem_type]).title]


def test_some_alerts_have_no_rule() -> None:
    ruled = {rule.problem_type for rule in parse_rules((CONFIG / "dsl_match_rules.json").read_bytes(), "rules").all}
    assert 2 <= len([alert for alert in alerts() if alert.problem_type not in ruled]) <= len(alerts()) / 2


def test_every_sample_lesson_survives_its_skill_file() -> None:
    for lesson in lessons():
        text = runbook.to_markdown(lesson)
        assert runbook.from_markdown(text) == lesson
        assert agent_skill.describe(lesson.title, lesson.body).startswith(lesson.title)


async def test_a_rule_for_an_alert_takes_its_own_lesson_or_none() -> None:
    rules = parse_rules((CONFIG / "dsl_match_rules.json").read_bytes(), "rules").all
    embedder = HashingEmbedder()
    of_types = {alert.problem_type: lesson_of(alert) for alert in alerts()}
    for rule in rules:
        if rule.problem_type in of_types:
            others = [each.title for each in lessons() if each != of_types[rule.problem_type]]
            found = await embedder.embed([rule.lookup, *others])
            query, *titles = (np.frombuffer(one, np.float32) for one in found)
            assert max(float(query @ title) for title in titles) < rule.min_score - 0.2
