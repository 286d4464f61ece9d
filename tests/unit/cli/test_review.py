"""`memorygrid review`: list, show, approve, edit, reject."""

from __future__ import annotations

from pathlib import Path

import pytest

from entrypoints.cli.decisions import one_by_one
from tests.unit.cli.conftest import RETRY, Cli, SetEditor, id_of, write_rows

TITLE = str(RETRY["title"])


@pytest.fixture
def waiting(cli: Cli, home: Path) -> str:
    """The id of the one lesson that awaits review."""
    cli("lessons", "import", str(write_rows(home / "stock.jsonl", RETRY)))
    return id_of(cli, TITLE)


def test_the_queue_tells_why_each_lesson_waits(cli: Cli, waiting: str) -> None:
    assert [(one["id"], one["reason"]) for one in cli.json("review", "list")] == [(waiting, "injected")]
    assert "injected" in cli("review", "list").stdout


def test_a_lesson_under_review_is_shown_with_reason_and_log(cli: Cli, waiting: str) -> None:
    shown = cli("review", "show", waiting).stdout
    assert shown.startswith("Reason  injected")
    assert "retry uploads." in shown
    found = cli.json("review", "show", waiting)
    assert found["lesson"]["id"] == waiting
    assert [entry["event"] for entry in found["log"]] == ["injected"]


def test_approving_promotes(cli: Cli, waiting: str) -> None:
    cli("review", "approve", waiting, "--note", "checked", "--version", "1")
    assert cli.json("lessons", "show", waiting)["status"] == "promoted"
    assert "its status is promoted" in cli("review", "show", waiting, code=1).stderr
    assert "cannot be approved" in cli("review", "approve", waiting, code=1).stderr


def test_a_version_that_has_been_left_behind_is_refused(cli: Cli, waiting: str) -> None:
    assert "read it again" in cli("review", "approve", waiting, "--version", "7", code=1).stderr
    assert "read it again" in cli("review", "reject", waiting, "--version", "7", code=1).stderr


def test_approving_all_asks_first(cli: Cli, waiting: str) -> None:
    cli("review", "approve", "--all", stdin="n\n", code=1)
    assert len(cli.json("review", "list")) == 1
    cli("review", "approve", "--all", stdin="y\n")
    assert cli.json("review", "list") == []
    assert "nothing awaits review" in cli("review", "approve", "--all").stderr


async def test_an_interrupt_leaves_it_said_what_was_done_until_then(capsys: pytest.CaptureFixture[str]) -> None:
    async def approve(lesson_id: str) -> str:
        if lesson_id == "third":
            raise KeyboardInterrupt
        return lesson_id

    with pytest.raises(KeyboardInterrupt):
        await one_by_one(["first", "second", "third", "fourth"], approve, "approved")
    assert capsys.readouterr().out == "approved  first\napproved  second\n"


def test_approving_nothing_in_particular_is_a_usage_error(cli: Cli) -> None:
    cli("review", "approve", code=2)


def test_rejecting_takes_a_lesson_out(cli: Cli, waiting: str) -> None:
    cli("review", "reject", waiting, "--note", "vague")
    assert cli.json("lessons", "show", waiting)["status"] == "rejected"


def test_editing_opens_the_editor_shows_the_difference_and_promotes(
    cli: Cli, waiting: str, set_editor: SetEditor
) -> None:
    set_editor("path.write_text(path.read_text().replace('backoff\"', 'patience\"').replace('degraded', 'slow'))")
    shown = cli("review", "edit", waiting, stdin="y\n").stdout
    for line in (
        '-  instruction_template: "Retry {operation} with backoff"',
        '+  instruction_template: "Retry {operation} with patience"',
        "-When storage is degraded, retry uploads.",
        "+When storage is slow, retry uploads.",
    ):
        assert line in shown.splitlines()
    lesson = cli.json("lessons", "show", waiting)
    assert (lesson["status"], lesson["version"]) == ("promoted", 2)
    assert lesson["body"] == "## Meaning\n\nWhen storage is slow, retry uploads.\n"
    assert lesson["dsl_payload"]["instruction_template"] == "Retry {operation} with patience"


def test_an_edit_that_is_not_confirmed_is_not_stored(cli: Cli, waiting: str, set_editor: SetEditor) -> None:
    set_editor("path.write_text(path.read_text() + 'more')")
    cli("review", "edit", waiting, stdin="n\n", code=1)
    assert cli.json("lessons", "show", waiting)["version"] == 1


def test_an_edit_without_a_difference_stores_nothing(cli: Cli, waiting: str, set_editor: SetEditor) -> None:
    set_editor("pass")
    assert "nothing is stored" in cli("review", "edit", waiting, code=1).stderr
    assert "nothing is stored" in cli("review", "edit", waiting, "--title", TITLE, code=1).stderr


def test_scripts_edit_by_options(cli: Cli, waiting: str) -> None:
    cli("review", "edit", waiting, "--title", "New", "--body", "Text", "--tag", "t", "--payload", "null", "--yes")
    lesson = cli.json("lessons", "show", waiting)
    assert (lesson["title"], lesson["body"], lesson["tags"]) == ("New", "Text", ["t"])
    assert lesson["dsl_payload"] is None


def test_an_edit_of_a_lesson_that_moved_on_meanwhile_is_refused_and_the_text_kept(
    cli: Cli, waiting: str, set_editor: SetEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_editor("path.write_text(path.read_text() + 'my work')")

    def somebody_is_faster(*_: object, **__: object) -> bool:
        cli("review", "approve", waiting)
        return True

    monkeypatch.setattr("typer.confirm", somebody_is_faster)
    shown = cli("review", "edit", waiting, code=1).stderr
    place = Path(shown.split("The text is kept in ")[1].strip())
    assert place.read_text().endswith("my work")
    place.unlink()


def test_the_bin_cannot_be_edited(cli: Cli, waiting: str, set_editor: SetEditor) -> None:
    set_editor("path.write_text(path.read_text().replace('tags:', 'bin: knowledge_base\\ntags:'))")
    shown = cli("review", "edit", waiting, code=2).stderr
    assert "bin cannot be edited" in shown
    Path(shown.split("The text is kept in ")[1].strip()).unlink()


def test_where_nobody_can_be_asked_nothing_is_done_and_the_option_that_does_it_is_named(cli: Cli) -> None:
    cli("lessons", "add", "--title", "New", "--body", "Text")
    waiting = id_of(cli, "New")
    for command in (
        ("review", "approve", "--all"),
        ("review", "edit", waiting, "--title", "Other"),
        ("lessons", "erase", waiting),
    ):
        assert "--yes does it unasked" in cli(*command, stdin="", code=1).stderr
    (lesson,) = cli.json("lessons", "list")
    assert (lesson["title"], lesson["status"]) == ("New", "pending_review")


def test_a_question_that_nobody_answers_ends_with_one_sentence_on_a_line_of_its_own(cli: Cli) -> None:
    cli("lessons", "add", "--title", "Pricing tiers", "--body", "Basic.", "--bin", "knowledge_base")
    lines = cli("review", "approve", "--all", code=1).stderr.splitlines()
    assert lines[-1].startswith("memorygrid: there is nobody to ask here")
    assert "memorygrid:" not in "".join(lines[:-1])
