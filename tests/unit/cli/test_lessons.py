"""`memorygrid lessons`: list, show, add, disable, erase."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import PRICES, RETRY, Cli, SetEditor, id_of, write_rows

UNKNOWN = "01a22cf4-3f65-7352-8e17-72bdba45f5da"


def test_a_lesson_added_by_options_waits_for_review(cli: Cli) -> None:
    added = cli.json(
        "lessons", "add", "--title", "Retry", "--body", "Try again.", "--tag", "a", "--tag", "b",
        "--payload", '{"action": "retry"}', "--bin", "knowledge_base", "--source", "me",
    )  # fmt: skip
    assert added["status"] == "pending_review"
    assert (added["bin"], added["title"], added["body"]) == ("knowledge_base", "Retry", "Try again.")
    assert (added["tags"], added["dsl_payload"], added["source"]) == (["a", "b"], {"action": "retry"}, "me")
    assert cli.json("review", "list")[0]["id"] == added["id"]


def test_the_text_may_come_from_a_file_or_from_standard_input(cli: Cli, home: Path) -> None:
    (home / "body.md").write_bytes(b"one\r\ntwo")
    assert cli.json("lessons", "add", "--title", "A", "--body-file", "body.md")["body"] == "one\r\ntwo"
    cli("lessons", "add", "--title", "B", "--body-file", "-", stdin="piped in")
    assert cli.json("lessons", "list", "--query", "B")[0]["body"] == "piped in"


def test_the_byte_order_mark_of_a_text_file_is_no_part_of_the_lesson(
    cli: Cli, home: Path, set_editor: SetEditor
) -> None:
    (home / "body.md").write_bytes(b"\xef\xbb\xbfone")
    assert cli.json("lessons", "add", "--title", "A", "--body-file", "body.md")["body"] == "one"
    set_editor("path.write_bytes(b'\\xef\\xbb\\xbf' + path.read_bytes() + b'From the editor')")
    assert cli.json("lessons", "add", "--title", "B")["body"] == "From the editor"


def test_without_a_text_the_editor_opens_on_what_is_known(cli: Cli, set_editor: SetEditor) -> None:
    set_editor("assert 'title: \"Known\"' in path.read_text()\npath.write_text(path.read_text() + 'From the editor')")
    assert "added" in cli("lessons", "add", "--title", "Known", "--tag", "x").stdout
    lesson = cli.json("lessons", "list")[0]
    assert (lesson["title"], lesson["body"], lesson["tags"]) == ("Known", "From the editor", ["x"])


def test_an_editor_that_changes_nothing_adds_nothing(cli: Cli, set_editor: SetEditor) -> None:
    set_editor("pass")
    assert "nothing is stored" in cli("lessons", "add", "--title", "Known", code=1).stderr
    assert cli.json("lessons", "list") == []


def test_what_was_written_in_vain_is_kept(cli: Cli, set_editor: SetEditor) -> None:
    set_editor("path.write_text('---\\ntitle: [unclosed\\n---\\n\\nlong work')")
    shown = cli("lessons", "add", code=2).stderr
    place = Path(shown.split("The text is kept in ")[1].strip())
    assert place.read_text().endswith("long work")
    place.unlink()


def test_an_editor_that_fails_changes_nothing(cli: Cli, set_editor: SetEditor) -> None:
    set_editor("sys.exit(3)")
    assert "ended with status 3: nothing was changed" in cli("lessons", "add", code=2).stderr


def test_options_that_contradict_or_are_no_json_are_usage_errors(cli: Cli) -> None:
    cli("lessons", "add", "--title", "A", "--body", "x", "--body-file", "y", code=2)
    assert "JSON" in cli("lessons", "add", "--title", "A", "--body", "x", "--payload", "[1]", code=2).stderr
    assert "cannot be read" in cli("lessons", "add", "--title", "A", "--body-file", "none.md", code=2).stderr
    assert "title" in cli("lessons", "add", "--title", "A\x07", "--body", "x", code=2).stderr


def test_the_list_is_newest_first_and_takes_filters(stocked: Cli) -> None:
    assert [one["title"] for one in stocked.json("lessons", "list")] == [PRICES["title"], RETRY["title"]]
    for given, title in [
        (("--bin", "skills_base"), RETRY["title"]),
        (("--tag", "uploads"), RETRY["title"]),
        (("--query", "ENTERPRISE"), PRICES["title"]),
        (("--status", "promoted", "--limit", "1"), PRICES["title"]),
    ]:
        assert [one["title"] for one in stocked.json("lessons", "list", *given)] == [title]
    assert stocked.json("lessons", "list", "--status", "rejected") == []
    table = stocked("lessons", "list").stdout
    assert str(RETRY["title"]) in table
    assert "promoted" in table


def test_the_lists_show_bins_as_the_option_takes_them(stocked: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    (row,) = (line for line in stocked("lessons", "list").stdout.splitlines() if "Pricing tiers" in line)
    assert " knowledge_base " in row
    stocked("lessons", "add", "--title", "New", "--body", "Text")
    (row,) = (line for line in stocked("review", "list").stdout.splitlines() if " New " in line)
    assert " skills_base " in row


def test_a_list_that_is_cut_off_says_so(stocked: Cli) -> None:
    assert "There may be more" in stocked("lessons", "list", "--limit", "1").stderr


def test_more_lessons_than_fit_one_page_of_the_api_are_listed(cli: Cli, home: Path) -> None:
    many = write_rows(home / "many.jsonl", *({**PRICES, "title": f"Lesson {n}"} for n in range(1_101)))
    cli("lessons", "import", str(many))
    assert len(cli.json("lessons", "list", "--limit", "5000")) == 1_101


def test_a_lesson_is_shown_in_full_with_its_log(stocked: Cli) -> None:
    lesson_id = id_of(stocked, "Retry uploads with backoff")
    shown = stocked("lessons", "show", lesson_id, "--log").stdout
    for part in (lesson_id, "skills_base", "retry_with_backoff", "retry uploads.", "the tests", "approved"):
        assert part in shown
    found = stocked.json("lessons", "show", lesson_id, "--log")
    assert found["lesson"]["body"] == RETRY["body"]
    assert [entry["event"] for entry in found["log"]] == ["injected", "approved"]
    assert stocked.json("lessons", "show", lesson_id)["id"] == lesson_id


def test_what_a_lesson_says_to_the_terminal_is_not_obeyed(cli: Cli, home: Path) -> None:
    hostile = {**PRICES, "title": "[red]x[/red] \u202eevil", "body": "\x1b[2J\x1b]0;owned\x07 [bold]b[/bold]"}
    cli("lessons", "import", str(write_rows(home / "hostile.jsonl", hostile)))
    lesson_id = cli.json("lessons", "list")[0]["id"]
    for command in (("list",), ("show", lesson_id, "--log"), ("list", "--json"), ("show", lesson_id, "--json")):
        shown = cli("lessons", *command).output
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}
        assert "[red]x[/red]" in shown
    assert cli.json("lessons", "show", lesson_id)["body"] == hostile["body"]


def test_an_unknown_lesson_is_a_no(cli: Cli) -> None:
    assert "no lesson" in cli("lessons", "show", UNKNOWN, code=1).stderr
    assert "an id is a UUID" in cli("lessons", "show", "../health", code=1).stderr


def test_disabled_lessons_match_no_more(stocked: Cli) -> None:
    lesson_id = id_of(stocked, "Retry uploads with backoff")
    assert "disabled" in stocked("lessons", "disable", lesson_id, "--note", "fails", "--reviewer", "ann").stdout
    assert stocked.json("lessons", "show", lesson_id)["status"] == "disabled"
    log = stocked.json("lessons", "show", lesson_id, "--log")["log"]
    assert log[-1]["detail"] == {"reviewer": "ann", "note": "fails"}


def test_one_that_cannot_be_disabled_does_not_stop_the_others(stocked: Cli) -> None:
    lesson_id = id_of(stocked, "Retry uploads with backoff")
    result = stocked("lessons", "disable", UNKNOWN, lesson_id, code=1)
    assert "1 of 2 could not be disabled" in result.stderr
    assert stocked.json("lessons", "show", lesson_id)["status"] == "disabled"


def test_erasing_asks_first(stocked: Cli) -> None:
    lesson_id = id_of(stocked, "Pricing tiers")
    stocked("lessons", "erase", lesson_id, stdin="n\n", code=1)
    assert stocked.json("lessons", "show", lesson_id)["id"] == lesson_id
    stocked("lessons", "erase", lesson_id, stdin="y\n")
    stocked("lessons", "show", lesson_id, code=1)
    stocked("lessons", "erase", lesson_id, "--yes", code=1)
