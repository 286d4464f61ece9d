"""`memorygrid lessons import`: the three forms of files, twice, and with bad ones among them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from entrypoints.cli.lesson_files.reading import BadFile, LessonFile, found_below
from tests.unit.cli.conftest import PRICES, RETRY, Cli, id_of, write_rows

SKILL = """---
name: pdf-forms
description: Fill PDF forms. Use when: a form has to be filled, say "fill this", or it's urgent #now
license: Complete terms in LICENSE.txt
---

# Filling PDF forms

```yaml
---
name: not-this
---
```
"""
RUNBOOK = """---
title: Disk full
bin: knowledge_base
tags: [disk, "out of space"]
weight: 20
dsl_payload:
  action: free_space
source: the wiki
---

Remove what is old.
"""


@pytest.fixture
def folder(home: Path) -> Path:
    """One lesson in each form, and files that are none."""
    folder = home / "in"
    (folder / "skills" / "pdf-forms" / "reference").mkdir(parents=True)
    (folder / "skills" / "pdf-forms" / "SKILL.md").write_text(SKILL)
    (folder / "skills" / "pdf-forms" / "reference" / "more.md").write_text("---\ntitle: Not a lesson\n---\n")
    (folder / "runbooks").mkdir()
    (folder / "runbooks" / "disk-full.md").write_text(RUNBOOK)
    (folder / "README.md").write_text("# Read me\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "hidden.md").write_text(RUNBOOK)
    (folder / "link.md").symlink_to(folder / "runbooks" / "disk-full.md")
    write_rows(folder / "rows.jsonl", RETRY, "", {**PRICES, "id": "ignored"})
    return folder


def test_a_folder_is_imported_with_all_its_skills_runbooks_and_rows(cli: Cli, folder: Path) -> None:
    result = cli("lessons", "import", "in")
    assert "4 imported, 0 known already, 0 edited here, 0 failed" in result.stdout
    assert "memorygrid review list" in result.stderr
    lessons = {one["title"]: one for one in cli.json("review", "list")}
    assert set(lessons) == {"Filling PDF forms", "Disk full", RETRY["title"], PRICES["title"]}
    assert {one["status"] for one in lessons.values()} == {"pending_review"}
    runbook = lessons["Disk full"]
    assert (runbook["bin"], runbook["tags"], runbook["source"]) == (
        "knowledge_base", ["disk", "out of space"], "the wiki",
    )  # fmt: skip
    assert runbook["dsl_payload"]["action"] == "free_space"
    assert lessons[str(RETRY["title"])]["dsl_payload"] == RETRY["dsl_payload"]
    assert lessons["Filling PDF forms"]["source"] == "skills/pdf-forms/SKILL.md"
    assert lessons["Filling PDF forms"]["body"].startswith("# Filling PDF forms\n\n```yaml\n---\n")


def test_the_same_content_makes_no_second_lesson(cli: Cli, folder: Path) -> None:
    cli("lessons", "import", "in")
    assert "0 imported, 4 known already" in cli("lessons", "import", "in").stdout
    assert "0 imported, 4 known already" in cli("lessons", "import", "in/skills", "in/runbooks", "in/rows.jsonl").stdout
    cli("review", "approve", "--all", "--yes")
    assert "0 imported, 4 known already" in cli("lessons", "import", "in").stdout
    assert len(cli.json("lessons", "list")) == 4


def test_a_file_that_repeats_itself_makes_no_second_lesson(cli: Cli, home: Path) -> None:
    twice = write_rows(home / "twice.jsonl", RETRY, {**RETRY, "source": "elsewhere"})
    assert "1 imported, 1 known already" in cli("lessons", "import", str(twice)).stdout


def test_a_lesson_that_was_turned_down_does_not_come_back(cli: Cli, home: Path) -> None:
    rows = write_rows(home / "rows.jsonl", RETRY)
    cli("lessons", "import", str(rows))
    cli("review", "reject", id_of(cli, str(RETRY["title"])))
    assert "0 imported, 1 known already" in cli("lessons", "import", str(rows)).stdout


def test_a_lesson_that_was_edited_here_is_left_alone_unless_asked(cli: Cli, home: Path) -> None:
    rows = write_rows(home / "rows.jsonl", RETRY)
    cli("lessons", "import", str(rows))
    cli("review", "edit", id_of(cli, str(RETRY["title"])), "--body", "Better.", "--yes")
    result = cli("lessons", "import", str(rows))
    assert "0 imported, 0 known already, 1 edited here" in result.stdout
    assert "--again" in result.stderr
    assert "1 imported" in cli("lessons", "import", str(rows), "--again").stdout


def test_a_file_that_has_changed_comes_in_as_a_new_lesson(cli: Cli, home: Path) -> None:
    cli("lessons", "import", str(write_rows(home / "rows.jsonl", RETRY)))
    changed = write_rows(home / "rows.jsonl", {**RETRY, "body": "Another text."})
    assert "1 imported" in cli("lessons", "import", str(changed)).stdout
    assert len(cli.json("review", "list")) == 2


def test_bad_files_are_reported_and_do_not_stop_the_others(cli: Cli, folder: Path) -> None:
    (folder / "runbooks" / "bad.md").write_text("---\ntitle: [unclosed\n---\n")
    (folder / "runbooks" / "latin.md").write_bytes(b"---\ntitle: caf\xe9\n---\n")
    (folder / "skills" / "Wrong").mkdir()
    (folder / "skills" / "Wrong" / "SKILL.md").write_text("---\nname: Wrong\ndescription: x\n---\n")
    write_rows(folder / "more.jsonl", "not JSON", {"title": "no body"}, {**PRICES, "title": "Good"})
    result = cli("lessons", "import", "in", "nowhere", code=1)
    assert "5 imported, 0 known already, 0 edited here, 6 failed" in result.stdout
    for line in (
        "in/runbooks/bad.md: front matter: line 3",
        "in/runbooks/latin.md: cannot be read",
        "in/skills/Wrong/SKILL.md: name: line 2: must be lower-case",
        "in/more.jsonl, line 1: row: ",
        "in/more.jsonl, line 2: row: ",
        "nowhere: is neither a file nor a folder",
        "6 of 11 could not be imported",
    ):
        assert line in result.stderr


def test_paths_that_cannot_be_looked_at_and_pipes_stop_nothing(cli: Cli, folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / "pipe.jsonl")
    done = cli.json("lessons", "import", "n" * 300, str(folder), code=1)
    assert done[0]["result"] == "failed"
    assert "cannot be read" in done[0]["reason"]
    assert {one["result"] for one in done[1:]} == {"imported"}


def test_one_that_the_service_does_not_take_does_not_stop_its_batch(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MG_MAX_BODY_BYTES", "2048")
    rows = write_rows(home / "rows.jsonl", RETRY, {**PRICES, "body": "long " * 500}, PRICES)
    result = cli.json("lessons", "import", str(rows), code=1)
    assert [(one["origin"][-1], one["result"]) for one in result] == [
        ("1", "imported"),
        ("2", "failed"),
        ("3", "imported"),
    ]
    assert "2048 bytes" in result[1]["reason"]


def test_a_long_list_of_problems_is_cut_short(cli: Cli, home: Path) -> None:
    rows = write_rows(home / "rows.jsonl", *["{}"] * 30)
    assert "and 10 more" in cli("lessons", "import", str(rows), code=1).stderr


def test_a_file_name_with_line_breaks_or_escapes_forges_no_line_of_the_report(cli: Cli, home: Path) -> None:
    name = "bad\n9 imported\x1b[2J.jsonl"
    write_rows(home / name, "nonsense", RETRY)
    result = cli("lessons", "import", name, code=1)
    assert "bad\\n9 imported\\x1b[2J.jsonl, line 1: row:" in result.stderr
    assert "\x1b" not in result.output
    assert not any(line.startswith("9 imported") for line in result.output.splitlines())
    assert cli.json("lessons", "list")[0]["source"] == RETRY["source"]


def test_a_lesson_from_a_file_with_a_line_break_in_its_name_has_a_source(cli: Cli, home: Path) -> None:
    row = {name: value for name, value in RETRY.items() if name != "source"}
    write_rows(home / "a\nb.jsonl", row)
    cli("lessons", "import", "a\nb.jsonl")
    assert cli.json("lessons", "list")[0]["source"] == "a\\nb.jsonl"


def test_names_of_other_files_are_shown_on_one_line_too(cli: Cli, home: Path) -> None:
    name = "no\nsuch\x1b"
    shown = [
        cli("lessons", "import", name, code=1).stderr,
        cli("rules", "check", name, code=1).stderr,
        cli("rules", "list", name, code=2).stderr,
        cli("lessons", "add", "--title", "A", "--body-file", name, code=2).stderr,
        cli("lessons", "export", name).output,
    ]
    assert all("no\\nsuch\\x1b" in one for one in shown)


def test_a_dry_run_imports_nothing(cli: Cli, folder: Path) -> None:
    assert "4 would be imported" in cli("lessons", "import", "in", "--dry-run").stdout
    assert cli.json("lessons", "list") == []


def test_json_lines_may_begin_with_a_byte_order_mark(cli: Cli, home: Path) -> None:
    rows = write_rows(home / "rows.jsonl", RETRY, PRICES)
    rows.write_bytes(b"\xef\xbb\xbf" + rows.read_bytes())
    assert "2 imported" in cli("lessons", "import", str(rows)).stdout


def test_bin_and_source_are_for_lessons_that_name_none(cli: Cli, home: Path) -> None:
    bare = write_rows(home / "rows.jsonl", {"title": "Bare", "body": "b"}, RETRY)
    cli("lessons", "import", str(bare), "--bin", "knowledge_base", "--source", "import")
    lessons = {one["title"]: (one["bin"], one["source"]) for one in cli.json("lessons", "list")}
    assert lessons == {"Bare": ("knowledge_base", "import"), RETRY["title"]: ("skills_base", "the tests")}


def test_a_place_without_lessons_is_a_no(cli: Cli, home: Path) -> None:
    (home / "empty").mkdir()
    assert "no lessons" in cli("lessons", "import", "empty", code=1).stderr
    (home / "picture.png").touch()
    assert "SKILL.md, Markdown or JSON Lines" in cli("lessons", "import", "picture.png", code=1).stderr


def test_a_file_that_is_named_may_be_a_runbook_without_front_matter(cli: Cli, home: Path) -> None:
    (home / "plain.md").write_text("# Plain\n\nText.")
    cli("lessons", "import", "plain.md")
    assert cli.json("lessons", "list")[0]["title"] == "Plain"


def test_names_of_files_are_kept_from_the_folder_on(folder: Path) -> None:
    found = list(found_below([folder]))
    assert not any(isinstance(one, BadFile) for one in found)
    assert [one.name for one in found if isinstance(one, LessonFile)] == [
        "rows.jsonl", "runbooks/disk-full.md", "skills/pdf-forms/SKILL.md",
    ]  # fmt: skip


def test_many_lessons_are_compared_by_reading_all_of_them_once(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entrypoints.cli.lesson_files.known._FEW", 1)
    rows = write_rows(home / "rows.jsonl", RETRY, PRICES)
    cli("lessons", "import", str(rows))
    assert "0 imported, 2 known already" in cli("lessons", "import", str(rows)).stdout


def test_a_runbook_whose_name_is_no_utf_8_is_told_and_stops_no_other(cli: Cli, home: Path) -> None:
    (home / "in").mkdir()
    for name in ("a.md", "b\udcff.md"):
        (home / "in" / name).write_text(RUNBOOK)
    told = cli("lessons", "import", "in", code=1)
    assert "has a name that is no text in UTF-8" in told.stderr
    assert "1 imported" in told.stdout


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff", "\\\\\\uD83D."])
def test_half_of_a_surrogate_pair_in_json_lines_is_named_with_its_line_and_column(
    cli: Cli, home: Path, half: str
) -> None:
    row = '{"body": "\\ud83d\\ude00 \\\\ud800 ' + half + '"}'
    told = " ".join(cli("lessons", "import", str(write_rows(home / "a.jsonl", PRICES, row)), code=1).stderr.split())
    column = row.rindex(half) + 1 + 2 * half.startswith("\\\\")
    assert f"line 2: row: must not hold half of a surrogate pair (column {column}: " in told
