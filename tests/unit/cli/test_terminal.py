"""Nothing that other people wrote steers the terminal."""

from __future__ import annotations

import pytest

from entrypoints.cli.terminal import Marks, console, on_one_line, plain, print_json, print_table, visible


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x1b]8;;http://evil\x1b\\link", r"\x1b]8;;http://evil\x1b\link"),
        ("\x9b2J", r"\x9b2J"),
        ("a\rb", r"a\rb"),
        ("a\x00b\x07c\x08d\x7f", r"a\x00b\x07c\x08d\x7f"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("line\u2028sep", r"line\u2028sep"),
        ("half \ud800", r"half \ud800"),
    ],
)
def test_whatever_could_steer_a_terminal_is_shown_as_an_escape(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown


@pytest.mark.parametrize("text", ["Zürich", "日本語", "می‌خواهم", "👩‍🚀 ok", "a\tb\nc", "[bold]no markup[/bold]"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_line_ends_and_spaces_of_other_kinds_become_plain_ones() -> None:
    assert visible("a\r\nb\u00a0c\u2003d") == "a\nb c d"
    assert on_one_line(" a \n b\t c ") == "a b c"


def test_markup_in_a_table_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["[red]Name[/red]"], [["[bold]x[/bold] :smile: http://a.b"], [plain("[link=evil]y[/link]")]])
    shown = capsys.readouterr().out
    assert "[bold]x[/bold] :smile: http://a.b" in shown
    assert "[link=evil]y[/link]" in shown
    assert "\x1b" not in shown


def test_a_piped_table_is_neither_wrapped_nor_padded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(["Name", "Text"], [["a", "word " * 100], ["b", "short"]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[3] == "b     short"


def test_a_table_that_the_terminal_is_too_narrow_for_is_shown_row_by_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[f"{number:036}", f"{number + 1:036}", "waiting", "", "a long reason " * 3] for number in range(2)]
    columns = ["Id", "Lesson", "State", "Error", "Reason"]
    monkeypatch.setenv("COLUMNS", "80")
    print_table(columns, rows, whole=["Id", "Lesson"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Id", f"{0:036}"]
    assert lines[2].split() == ["State", "waiting"]
    assert not any("Error" in line for line in lines)
    assert lines.count("") == 1
    monkeypatch.setenv("COLUMNS", "120")
    print_table(columns, rows, whole=["Id", "Lesson"])
    assert capsys.readouterr().out.split()[:5] == columns


def test_words_of_eight_letters_are_not_broken_in_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[f"{0:036}", "promoted", "word " * 30, "reviewed"]]
    monkeypatch.setenv("COLUMNS", "72")
    print_table(["Id", "Status", "Title", "Reason"], rows, whole=["Id"])
    told = capsys.readouterr().out.split()
    assert {"promoted", "reviewed"} <= set(told)


def test_an_empty_table_says_so_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["Name"], [])
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "none\n")


def test_json_keeps_its_content_and_holds_nothing_invisible(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": "\x1b[2J \x9b \u202e ü \n \x7f"})
    shown = capsys.readouterr().out
    assert shown == '{\n  "text": "\\u001b[2J \\u009b \\u202e ü \\n \\u007f"\n}\n'


def test_signs_are_plain_where_the_terminal_has_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.console.Console.encoding", "ascii")
    marks = Marks(console())
    assert (marks.yes + marks.no + marks.attention).isascii()
