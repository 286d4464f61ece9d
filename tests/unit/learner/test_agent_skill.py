"""Lessons as `SKILL.md` files and back: the open Agent Skills format."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.learner import agent_skill
from domain.learner.lesson import Bin, LessonDraft, PromotedLesson
from tests.unit.learner.skill_files import FOREIGN, skill

LETTERS = st.characters(exclude_categories=["Cc", "Cs"])
TITLES = st.text(LETTERS, min_size=1, max_size=500)
TAGS = st.lists(st.text(LETTERS, min_size=1, max_size=100), max_size=3)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
PAYLOADS = st.none() | st.dictionaries(TEXTS, st.recursive(SCALARS, st.lists, max_leaves=5))

COPY = PromotedLesson(
    id="0192f0c1-7d3a-7cc1-9f5e-0d7a3c6b2e11",
    bin=Bin.SKILLS,
    title="Retry uploads with backoff",
    body="## Meaning\n\nStorage is slow.\nUploads fail.\n\n```sh\nretry <file>\n```\n",
    tags=("storage", "upload"),
    dsl_payload={"action": "retry", "instruction_template": "Retry {operation}"},
    version=4,
    review_round=2,
    promoted_at=datetime(2026, 10, 22, 10, 0, 0, 123456, tzinfo=timezone.utc),
)


def copy(**changes: object) -> PromotedLesson:
    return msgspec.structs.replace(COPY, **changes)


@settings(max_examples=60, deadline=None)
@given(title=TITLES, body=TEXTS, tags=TAGS, payload=PAYLOADS, bin=st.sampled_from(Bin))
def test_a_promoted_lesson_survives_its_file_byte_for_byte(
    title: str, body: str, tags: list[str], payload: dict[str, object] | None, bin: Bin
) -> None:
    lesson = copy(title=title, body=body, tags=tuple(tags), dsl_payload=payload, bin=bin)
    text = agent_skill.render(lesson).encode().decode()
    read = agent_skill.parse(text, folder=agent_skill.skill_name(title, lesson.id))
    assert read.draft == LessonDraft(bin=bin, title=title, body=body, tags=tuple(tags), dsl_payload=payload)
    assert read.head + read.draft.body == text
    assert text.endswith(body)
    assert agent_skill.lesson_id(text) == lesson.id


@settings(max_examples=60, deadline=None)
@given(title=TITLES, lesson_id=st.uuids().map(str), attempt=st.integers(0, 3))
def test_a_skill_name_is_a_valid_folder_name_for_a_title_in_any_script(
    title: str, lesson_id: str, attempt: int
) -> None:
    name = agent_skill.skill_name(title, lesson_id, attempt)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= 64
    assert name.endswith("-" + agent_skill.digest(lesson_id, attempt))
    assert yaml.safe_load(f"name: {name}") == {"name": name}


def test_a_skill_name_is_the_slug_of_the_title_and_eight_hex_digits_of_the_id() -> None:
    name = agent_skill.skill_name("  Écrire à Zoë -- (v2)!", "x")
    assert re.fullmatch(r"ecrire-a-zoe-v2-[0-9a-f]{8}", name)
    assert agent_skill.skill_name("東京", "x").startswith("lesson-")
    assert len(agent_skill.skill_name("a" * 100, "x")) == 64
    assert re.fullmatch(r"a{54}-[0-9a-f]{8}", agent_skill.skill_name("a" * 54 + " b", "x"))
    assert agent_skill.skill_name("same", "x") != agent_skill.skill_name("same", "y")
    assert agent_skill.skill_name("same", "x") != agent_skill.skill_name("same", "x", 1)


@settings(max_examples=60, deadline=None)
@given(title=TITLES, body=TEXTS)
def test_a_description_is_never_empty_nor_too_long_nor_holds_angle_brackets(title: str, body: str) -> None:
    front = yaml.safe_load(agent_skill.render(copy(title=title, body=body)).split("\n---\n")[0])
    assert 1 <= len(front["description"].strip()) <= 1_024
    assert not set(front["description"]) & set("<>\n")


def test_a_description_is_the_title_and_the_first_paragraph() -> None:
    assert agent_skill.describe(COPY.title, COPY.body) == "Retry uploads with backoff. Storage is slow. Uploads fail"
    assert agent_skill.describe("<>", "") == "A lesson learned"
    assert agent_skill.describe("T", "<details>\n<b>Why</b> a < b\n</details>\nrest") == "T. Why a b"
    long = agent_skill.describe("T", "word " * 1_000)
    assert len(long) <= 1_024
    assert long.endswith("word…")


def test_metadata_is_a_map_from_texts_to_texts() -> None:
    front = yaml.safe_load(agent_skill.render(COPY).split("\n---\n")[0])
    assert set(front) == {"name", "description", "metadata"}
    assert front["metadata"] == {
        "id": COPY.id,
        "bin": "skills_base",
        "title": "Retry uploads with backoff",
        "tags": '["storage","upload"]',
        "dsl_payload": '{"action":"retry","instruction_template":"Retry {operation}"}',
        "version": "4",
        "review_round": "2",
        "promoted_at": "2026-10-22T10:00:00.123456Z",
    }
    assert agent_skill.parse(agent_skill.render(COPY)).metadata == front["metadata"]


def test_a_reader_that_looks_for_the_next_three_hyphens_finds_those_that_close_the_front_matter() -> None:
    lesson = copy(title="-- a ---- b ---", tags=("---",), dsl_payload={"---": '"---'}, body="---\nbody")
    _, front, body = agent_skill.render(lesson).split("---", 2)
    assert yaml.safe_load(front)["metadata"]["title"] == lesson.title
    assert body == "\n\n" + lesson.body
    assert agent_skill.parse(agent_skill.render(lesson)).draft.dsl_payload == lesson.dsl_payload


def test_the_same_lesson_gives_the_same_bytes_whatever_the_order_of_its_keys() -> None:
    turned = copy(dsl_payload=dict(reversed((COPY.dsl_payload or {}).items())))
    assert agent_skill.render(turned) == agent_skill.render(COPY)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + FOREIGN,
        FOREIGN.replace("\n", "\r\n"),
        FOREIGN.rstrip("\n"),
        FOREIGN.replace("---\n\n```", "---\n```"),
        skill("name: a\ndescription: |-\n  Several lines.\n  TRIGGER: `x`\n"),
        skill("name: a\ndescription: >-\n  folded: lines\n  here\n"),
        skill("name: a\ndescription: Use when: a colon, it's unquoted\n  and: continued\nversion: 1"),
        skill("name: übung\ndescription: d\nallowed-tools: Bash(git:*) Read\ncompatibility: Linux", "# Ü\r\n"),
        "---\nname: a\ndescription: d\n---",
        "--- \nname: a\ndescription: d\n---\t\n\n\n\n# Three empty lines before\n",
    ],
)
def test_an_imported_skill_is_exported_byte_for_byte_while_nothing_changed(text: str) -> None:
    read = agent_skill.parse(text)
    draft = agent_skill.keeping_head(read)
    lesson = copy(bin=draft.bin, title=draft.title, body=draft.body, tags=draft.tags, dsl_payload=draft.dsl_payload)
    assert agent_skill.export(lesson) == (read.name, text)
    assert agent_skill.parse(agent_skill.render(lesson)).draft == draft


@pytest.mark.parametrize("change", [{"title": "Other"}, {"body": "Other"}, {"tags": ("other",)}, {"body": "\nBody"}])
def test_an_imported_skill_that_was_edited_is_exported_as_ours(change: dict[str, object]) -> None:
    draft = agent_skill.keeping_head(agent_skill.parse(FOREIGN))
    lesson = copy(title=draft.title, body=draft.body, tags=draft.tags, dsl_payload=draft.dsl_payload)
    edited = msgspec.structs.replace(lesson, **change)
    name, text = agent_skill.export(edited)
    assert name == agent_skill.skill_name(edited.title, edited.id)
    assert agent_skill.parse(text).draft.body == edited.body
    assert agent_skill.parse(text).draft.dsl_payload is None


def test_our_own_skill_is_exported_as_it_is_rendered_and_imported_as_it_is() -> None:
    assert agent_skill.export(COPY) == (agent_skill.skill_name(COPY.title, COPY.id), agent_skill.render(COPY))
    read = agent_skill.parse(agent_skill.render(COPY))
    assert agent_skill.keeping_head(read) == read.draft
    broken = copy(dsl_payload={"agent_skill": {"head": "---\n"}})
    assert agent_skill.export(broken)[1] == agent_skill.render(copy(dsl_payload=None))


def test_the_lesson_that_a_file_belongs_to_is_found_in_its_first_kilobytes() -> None:
    text = agent_skill.render(copy(dsl_payload={"long": "x" * 100_000}))
    assert agent_skill.lesson_id(text[:8_192]) == COPY.id
    assert agent_skill.lesson_id(text.replace("\n", "\r\n")) == COPY.id
    assert agent_skill.lesson_id(FOREIGN) is None
    assert agent_skill.lesson_id("Body\n" + text) is None
    assert agent_skill.lesson_id(skill("name: a\ndescription: d", f'metadata:\n  id: "{COPY.id}"')) is None


def test_a_skill_of_somebody_elses_that_has_an_id_keeps_its_head() -> None:
    text = FOREIGN.replace("  author: example-org\n", '  id: "team-42"\n', 1)
    skill = agent_skill.parse(text)
    assert agent_skill.lesson_id(skill.head) == "team-42"
    payload = agent_skill.keeping_head(skill).dsl_payload
    assert payload is not None
    assert "team-42" in str(payload)
