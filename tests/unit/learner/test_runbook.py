"""Lessons in Markdown runbooks and JSON Lines, both ways."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import InvalidInput
from domain.learner import runbook
from domain.learner.lesson import Bin, LessonDraft

LETTERS = st.characters(exclude_categories=["Cc", "Cs"])
TITLES = st.text(LETTERS, min_size=1, max_size=500).filter(lambda title: not title.isspace())
NO_TITLE = "must be 1 to 500 characters without control characters, not only spaces"
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
DRAFTS = st.builds(
    LessonDraft,
    bin=st.sampled_from(Bin),
    title=TITLES,
    body=TEXTS,
    tags=st.lists(st.text(LETTERS, min_size=1, max_size=100), max_size=3).map(tuple),
    dsl_payload=st.none() | st.dictionaries(TEXTS, SCALARS | st.lists(SCALARS, max_size=2), max_size=3),
    source=st.text(LETTERS, max_size=500),
)


@settings(max_examples=60, deadline=None)
@given(draft=DRAFTS)
def test_a_draft_survives_a_markdown_runbook_byte_for_byte(draft: LessonDraft) -> None:
    text = runbook.to_markdown(draft)
    assert text.endswith(draft.body)
    assert runbook.from_markdown(text.encode().decode()) == draft


@settings(max_examples=60, deadline=None)
@given(draft=DRAFTS)
def test_a_draft_survives_a_row_of_json_lines_byte_for_byte(draft: LessonDraft) -> None:
    line = runbook.to_json_line(draft)
    assert "\n" not in line
    assert runbook.from_json_line(line.encode().decode(), 1) == draft


def test_a_runbook_gives_title_bin_tags_payload_and_source_in_its_front_matter() -> None:
    text = """\ufeff---
title: "Kube: pod \\"crash\\" looping"
weight: 20
bin: knowledge_base
tags:
  - kubernetes
  - 2
dsl_payload:
  action: restart_pod
  retries: 3
  quiet: true
  wait: "3"
  steps: [{do: No, when: null}]
source: team sre
---

# Heading
"""
    assert runbook.from_markdown(text) == LessonDraft(
        bin=Bin.KNOWLEDGE,
        title='Kube: pod "crash" looping',
        body="# Heading\n",
        tags=("kubernetes", "2"),
        dsl_payload={
            "action": "restart_pod",
            "retries": 3,
            "quiet": True,
            "wait": "3",
            "steps": [{"do": "No", "when": None}],
        },
        source="team sre",
    )


def test_a_runbook_without_front_matter_is_titled_by_its_first_heading() -> None:
    text = "\ufeffIntro.\r\n\r\n## Disk full ##\r\nDelete.\r\n"
    draft = runbook.from_markdown(text, bin=Bin.KNOWLEDGE, source="wiki")
    assert draft == LessonDraft(bin=Bin.KNOWLEDGE, title="Disk full", body=text.lstrip("\ufeff"), source="wiki")


def test_tags_may_be_texts_between_commas() -> None:
    assert runbook.from_markdown("---\ntitle: T\ntags: disk , full,\n---\n").tags == ("disk", "full")


def test_an_empty_payload_in_front_matter_is_none() -> None:
    assert runbook.from_markdown("---\ntitle: T\ndsl_payload:\n---\n").dsl_payload is None
    assert runbook.from_markdown("---\ntitle: T\ndsl_payload: null\n---\n").dsl_payload is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no heading", "disk.md: title: is missing, and the text has no heading"),
        ("---\nweight: 1\n---\ntext", "disk.md: title: is missing, and the text has no heading"),
        ("---\ntitle: [T]\n---\n# H", "disk.md: title: line 2: must be text, not a list or a map"),
        (f"---\ntitle: {'T' * 501}\n---\n", f"disk.md: title: {NO_TITLE}"),
        ("---\ntitle: T\nbin: attic\n---\n", "disk.md: bin: line 3: must be skills_base or knowledge_base"),
        ("---\ntitle: T\n\n\nbin: {a: b}\n---\n", "disk.md: bin: line 5: must be text, not a list or a map"),
        ("---\ntitle: T\ndsl_payload: {a: 1, a: 2}\n---\n", "disk.md: dsl_payload.a: line 3: the key is there twice"),
        ("---\ntitle: T\n", "disk.md: front matter: line 1: no line of three hyphens closes it"),
        ("# T\n\0", "disk.md: body: must not hold a NUL character or half of a surrogate pair"),
    ],
)
def test_what_is_wrong_with_a_runbook_is_said_with_file_key_and_line(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        runbook.from_markdown(text, file="disk.md")
    assert refused.value.detail == reason


def test_a_row_of_the_services_own_export_is_accepted_with_all_that_it_holds() -> None:
    row = {
        "id": "0192f0c1-7d3a-7cc1-9f5e-0d7a3c6b2e11",
        "bin": "knowledge_base",
        "title": "T",
        "body": "B",
        "tags": ["a"],
        "dsl_payload": None,
        "status": "promoted",
        "source": "agent",
        "created_at": "2026-10-22T10:00:00Z",
    }
    draft = runbook.from_json_line(json.dumps(row), 1)
    assert draft == LessonDraft(bin=Bin.KNOWLEDGE, title="T", body="B", tags=("a",), source="agent")


def test_a_row_may_leave_out_all_but_title_and_body() -> None:
    draft = runbook.from_json_line('{"title": "T", "body": "B", "tags": null}', 1, bin=Bin.KNOWLEDGE, source="import")
    assert draft == LessonDraft(bin=Bin.KNOWLEDGE, title="T", body="B", source="import")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "row: Input data was truncated"),
        ('{"title": "T"}', "row: Object missing required field `body`"),
        ('{"title": 1, "body": "B"}', "row: Expected `str`, got `int` - at `$.title`"),
        (
            '{"title": "T", "body": "B", "bin": "attic"}',
            "row: Invalid enum value 'attic' - at `$.bin`: must be skills_base or knowledge_base",
        ),
        ('{"title": "", "body": "B"}', f"title: {NO_TITLE}"),
        ('{"title": " \\u00a0", "body": "B"}', f"title: {NO_TITLE}"),
        ('{"title": "T\\n", "body": "B"}', f"title: {NO_TITLE}"),
        ('{"title": "T", "body": "\\u0000"}', "body: must not hold a NUL character or half of a surrogate pair"),
        ('{"title": "T", "body": "", "tags": [""]}', "tags[0]: must be 1 to 100 characters without control characters"),
        ('{"title": "T", "body": "", "tags": [' + '"t",' * 64 + '"t"]}', "tags: must be at most 64"),
        (
            '{"title": "T", "body": "", "source": "a\\n"}',
            "source: must be at most 500 characters without control characters",
        ),
        (
            '{"title": "T", "body": "", "dsl_payload": {"a": ' + "[" * 40 + "]" * 40 + "}}",
            "dsl_payload: must not be nested deeper than 32 levels",
        ),
        (
            '{"title": "T", "body": "", "dsl_payload": {"a": ["\\u0000", "\\u0000"]}}',
            "dsl_payload: must not hold a NUL character",
        ),
    ],
)
def test_what_is_wrong_with_a_row_is_said_with_file_and_line(line: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        runbook.from_json_line(line, 7, file="export.jsonl")
    assert refused.value.detail == f"export.jsonl, line 7: {reason}"


@pytest.mark.parametrize("digits", [310, 5_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_whole_number_beyond_a_double_is_refused_whatever_its_length(sign: str, digits: int) -> None:
    text = f"---\ntitle: T\ndsl_payload:\n  wait_s: {sign}{'9' * digits}\n---\n\nText."
    with pytest.raises(InvalidInput) as refused:
        runbook.from_markdown(text, file="wait.md", bin=Bin.SKILLS, source="import")
    assert refused.value.detail == "wait.md: dsl_payload.wait_s: line 4: must not be a number beyond a double"


def test_a_row_nested_beyond_any_measure_is_refused_like_any_other() -> None:
    with pytest.raises(InvalidInput):
        runbook.from_json_line('{"title": "T", "body": "", "x": ' + "[" * 100_000, 1)
