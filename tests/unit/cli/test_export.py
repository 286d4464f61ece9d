"""`memorygrid lessons export`: what was imported comes back, byte for byte where nothing changed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.unit.cli.conftest import PRICES, RETRY, Cli, id_of, write_rows
from tests.unit.cli.test_import import RUNBOOK, SKILL

FILES = {
    "pdf-forms/SKILL.md": SKILL,
    "crlf/SKILL.md": "---\r\nname: crlf\r\ndescription: |\r\n  Two\r\n  lines\r\n---\r\n\r\nBody\r\n\r\n\r\n",
    "no-end/SKILL.md": "---\nname: no-end\ndescription: 'It''s short'\n---\nno line end, trailing spaces  ",
    "bom/SKILL.md": "\ufeff---\nname: bom\ndescription: A skill with a mark\n---\nBody\n",
    "runbooks/disk-full.md": RUNBOOK,
    "runbooks/deep/bom.markdown": "\ufeff---\ntitle: 'With a mark'\n---\nBody",
    "runbooks/bare.md": "---\n---\n# Only a heading\n",
}


def test_skills_and_runbooks_come_back_byte_for_byte(cli: Cli, home: Path) -> None:
    _write(home / "in", FILES)
    cli("lessons", "import", "in")
    assert "7 lessons in 7 files below out: 7 written" in cli("lessons", "export", "out").stdout
    assert _read(home / "out") == {name: text.encode() for name, text in FILES.items()}
    cli("review", "approve", "--all", "--yes")
    assert "7 unchanged" in cli("lessons", "export", "out").stdout
    assert "0 imported, 7 known already" in cli("lessons", "import", "out").stdout


def test_a_lesson_that_was_edited_comes_back_as_it_is_now_under_its_files_name(cli: Cli, home: Path) -> None:
    _write(home / "in", {"runbooks/disk-full.md": RUNBOOK})
    cli("lessons", "import", "in")
    cli("review", "edit", id_of(cli, "Disk full"), "--body", "Grow it.\n", "--payload", '{"action": "grow"}', "--yes")
    cli("lessons", "export", "out")
    text = (home / "out" / "runbooks" / "disk-full.md").read_text()
    assert text.endswith("Grow it.\n")
    assert '"action":"grow"' in text
    assert "weight" not in text
    assert "0 imported, 1 known already" in cli("lessons", "import", "out").stdout


def test_json_lines_come_back_in_their_order_byte_for_byte(cli: Cli, home: Path) -> None:
    samples = Path(__file__).parents[3] / "config" / "samples" / "runbooks.jsonl"
    cli("lessons", "import", str(samples))
    cli("lessons", "export", "out", "--format", "jsonl")
    assert (home / "out" / "lessons.jsonl").read_bytes() == samples.read_bytes()


def test_what_never_was_a_file_becomes_a_skill_that_can_be_imported_elsewhere(
    stocked: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stocked("lessons", "export", "out")
    assert len(list((home / "out").glob("retry-uploads-with-backoff-*/SKILL.md"))) == 1
    monkeypatch.setenv("MG_TIDB_DSN", "sqlite+aiosqlite:///./other.db")
    assert "2 imported" in stocked("lessons", "import", "out").stdout
    lessons = {one["title"]: one for one in stocked.json("lessons", "list")}
    for row in (RETRY, PRICES):
        copy = lessons[row["title"]]
        assert [copy[name] for name in ("bin", "body", "tags", "dsl_payload")] == [
            row[name] for name in ("bin", "body", "tags", "dsl_payload")
        ]


def test_every_form_can_be_asked_for(stocked: Cli, home: Path) -> None:
    stocked("lessons", "export", "md", "--format", "markdown", "--bin", "knowledge_base")
    (file,) = (home / "md").iterdir()
    assert file.name.startswith("pricing-tiers-")
    assert 'title: "Pricing tiers"' in file.read_text()
    stocked("lessons", "export", "skills", "--format", "skills", "--tag", "uploads")
    assert len(list((home / "skills").glob("*/SKILL.md"))) == 1


def test_rejected_and_disabled_lessons_come_only_when_asked_for(stocked: Cli, home: Path) -> None:
    stocked("lessons", "disable", id_of(stocked, "Pricing tiers"))
    assert "1 lessons" in stocked("lessons", "export", "out").stdout
    assert "1 lessons" in stocked("lessons", "export", "disabled", "--status", "disabled").stdout


def test_files_that_are_there_and_differ_are_left_alone_unless_forced(stocked: Cli, home: Path) -> None:
    stocked("lessons", "export", "out", "--format", "jsonl")
    file = home / "out" / "lessons.jsonl"
    file.write_text("mine")
    result = stocked("lessons", "export", "out", "--format", "jsonl", code=1)
    assert "is there and differs" in result.stderr
    assert file.read_text() == "mine"
    assert stocked.json("lessons", "export", "out", "--format", "jsonl", "--force") == [
        {"path": "out/lessons.jsonl", "result": "written"}
    ]
    assert file.read_text() != "mine"


def test_two_lessons_of_one_name_get_two_files(cli: Cli, home: Path) -> None:
    _write(home / "in", {"a.md": RUNBOOK, "pdf-forms/SKILL.md": SKILL})
    cli("lessons", "import", "in")
    _write(home / "in", {"a.md": RUNBOOK.replace("old", "new"), "pdf-forms/SKILL.md": SKILL + "more\n"})
    cli("lessons", "import", "in")
    assert "4 lessons in 4 files" in cli("lessons", "export", "out").stdout
    assert len(_read(home / "out")) == 4


@pytest.mark.parametrize("name", ["../../evil.md", "/evil.md", "a/../../evil.md", ".bashrc.md", "a\\..\\b.md", "x.sh"])
def test_a_name_that_somebody_injected_does_not_lead_out_of_the_folder(cli: Cli, home: Path, name: str) -> None:
    hostile = {**PRICES, "dsl_payload": {"runbook": {"file": name, "head": "---\ntitle: Pricing tiers\n---\n"}}}
    cli("lessons", "import", str(write_rows(home / "hostile.jsonl", hostile)))
    before = {path for path in home.rglob("*") if "out" not in path.parts}
    cli("lessons", "export", "out")
    assert {path for path in home.rglob("*") if "out" not in path.parts} == before
    (file,) = (path for path in (home / "out").rglob("*") if path.is_file())
    assert file.name == "SKILL.md"


def test_a_symbolic_link_in_the_folder_does_not_lead_out_of_it(cli: Cli, home: Path) -> None:
    _write(home / "in", {"runbooks/disk-full.md": RUNBOOK})
    cli("lessons", "import", "in")
    (home / "elsewhere").mkdir()
    (home / "out").mkdir()
    (home / "out" / "runbooks").symlink_to(home / "elsewhere")
    assert "symbolic link" in cli("lessons", "export", "out", code=2).stderr
    assert list((home / "elsewhere").iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_told(stocked: Cli, home: Path) -> None:
    (home / "out").write_text("a file")
    assert "cannot be written" in stocked("lessons", "export", "out", code=2).stderr


def test_a_file_that_cannot_be_written_stops_no_other_and_is_counted_and_named(cli: Cli, home: Path) -> None:
    _write(home / "in", FILES)
    cli("lessons", "import", "in")
    (home / "out").mkdir()
    (home / "out" / "pdf-forms").symlink_to("nowhere")
    told = cli("lessons", "export", "out", code=2)
    assert "6 written, 0 unchanged, 0 left alone, 1 failed" in told.stdout
    assert "out/pdf-forms/SKILL.md: cannot be written" in told.stderr
    assert "1 of 7 files could not be written" in told.stderr


def test_what_an_import_keeps_is_not_shown_to_people_and_survives_their_edits(cli: Cli, home: Path) -> None:
    _write(home / "in", {"runbooks/disk-full.md": RUNBOOK})
    cli("lessons", "import", "in")
    lesson_id = id_of(cli, "Disk full")
    shown = cli("lessons", "show", lesson_id).stdout
    assert '{"action":"free_space"}' in shown
    cli("review", "edit", lesson_id, "--payload", "null", "--yes")
    payload = cli.json("lessons", "show", lesson_id)["dsl_payload"]
    assert msgspec.json.encode(payload).startswith(b'{"runbook":')


OWN_NAMES = [
    {"action": "x", "agent_skill": "keep me", "runbook": "https://wiki/x"},
    {"runbook": {"file": "a.md"}, "agent_skill": {}},
    {"runbook": {"file": "a.md", "head": 1}, "agent_skill": {"head": None}},
    {"runbook": {"file": "a.md", "head": "", "more": 1}, "agent_skill": {"head": "---\n", "more": 1}},
    {"runbook": {"file": "report.pdf", "head": "Ann"}, "agent_skill": {"head": "Ann"}},
    {"runbook": None, "agent_skill": []},
]


@pytest.mark.parametrize("payload", OWN_NAMES, ids=str)
@pytest.mark.parametrize("form", ["auto", "skills", "markdown", "jsonl"])
def test_a_payloads_own_runbook_or_agent_skill_is_shown_exported_and_removed_as_anything_else(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch, payload: dict[str, object], form: str
) -> None:
    cli("lessons", "add", "--title", "Own", "--body", "Text", "--payload", msgspec.json.encode(payload).decode())
    lesson_id = id_of(cli, "Own")
    encoded = msgspec.json.encode(payload).decode()
    assert encoded in cli("lessons", "show", lesson_id).stdout
    assert encoded in cli("review", "show", lesson_id).stdout
    cli("lessons", "export", "out", "--format", form)
    monkeypatch.setenv("MG_TIDB_DSN", "sqlite+aiosqlite:///./other.db")
    cli("lessons", "import", "out")
    again = cli.json("lessons", "show", id_of(cli, "Own"))["dsl_payload"]
    assert {name: again[name] for name in payload} == payload
    monkeypatch.delenv("MG_TIDB_DSN")
    cli("review", "edit", lesson_id, "--payload", '{"action": "y"}', "--yes")
    assert cli.json("lessons", "show", lesson_id)["dsl_payload"] == {"action": "y"}


def test_a_payloads_own_runbook_in_a_file_is_not_replaced_by_what_an_import_keeps(cli: Cli, home: Path) -> None:
    own = 'dsl_payload: {runbook: "https://wiki/x", agent_skill: own}'
    skill = '---\nname: own\ndescription: d\nmetadata:\n  title: S\n  dsl_payload: \'{"agent_skill":"own"}\'\n---\nB'
    _write(home / "in", {"a.md": f"---\ntitle: A\n{own}\n---\nBody\n", "own/SKILL.md": skill})
    assert "2 imported" in cli("lessons", "import", "in").stdout
    payload = cli.json("lessons", "show", id_of(cli, "A"))["dsl_payload"]
    assert payload == {"runbook": "https://wiki/x", "agent_skill": "own"}
    assert cli.json("lessons", "show", id_of(cli, "S"))["dsl_payload"] == {"agent_skill": "own"}


def test_an_edit_that_puts_something_of_its_own_in_the_place_of_the_kept_file_holds(cli: Cli, home: Path) -> None:
    _write(home / "in", {"disk-full.md": RUNBOOK})
    cli("lessons", "import", "in")
    lesson_id = id_of(cli, "Disk full")
    cli("review", "edit", lesson_id, "--payload", '{"runbook": "https://wiki/x"}', "--yes")
    assert cli.json("lessons", "show", lesson_id)["dsl_payload"] == {"runbook": "https://wiki/x"}


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def _read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
