"""Other people's `SKILL.md` files: what is read from them, and what is said where it does not fit."""

from __future__ import annotations

import pytest

from domain.errors import InvalidInput
from domain.learner import agent_skill
from domain.learner.lesson import Bin
from tests.unit.learner.skill_files import FOREIGN, skill


def problems(text: str, **options: str) -> dict[str, str]:
    with pytest.raises(InvalidInput) as refused:
        agent_skill.parse(text, **options)  # type: ignore[arg-type]
    return {error.path: error.message for error in refused.value.errors}


def test_somebody_elses_skill_is_read_by_the_specification() -> None:
    read = agent_skill.parse(FOREIGN, folder="pdf-forms", source="import")
    assert read.name == "pdf-forms"
    assert read.description == "Use when the user says \"fill in this form\": PDF, fields, 'ticks'."
    assert read.draft.title == "Filling in PDF forms"
    assert read.draft.body.startswith("```sh\n# not a heading")
    assert (read.draft.bin, read.draft.tags, read.draft.source) == (Bin.SKILLS, ("pdf", "forms"), "import")
    assert read.draft.dsl_payload is None
    assert read.metadata["version"] == "1.10"
    assert read.metadata["nested"] == '{"os":["linux",2]}'
    assert read.head + read.draft.body == FOREIGN


def test_the_title_is_the_one_in_the_metadata_else_the_first_heading_else_the_name() -> None:
    front = "name: a-b\ndescription: d"
    assert agent_skill.parse(skill(front + "\nmetadata: {title: 'In  metadata'}", "# H")).draft.title == "In  metadata"
    assert agent_skill.parse(skill(front, "text\n\n##  A  *heading*  ##\n# Later")).draft.title == "A *heading*"
    assert agent_skill.parse(skill(front, "# C#")).draft.title == "C#"
    fenced = "````md\n```\n# not yet\n````\n# Now"
    assert agent_skill.parse(skill(front, fenced)).draft.title == "Now"
    assert agent_skill.parse(skill(front, "no heading")).draft.title == "a-b"
    assert agent_skill.parse(skill(front, f"# {'x' * 501}")).draft.title == "a-b"


def test_an_unquoted_colon_in_a_description_is_text() -> None:
    read = agent_skill.parse(skill("name: a\ndescription: Use when: it's late\n  and: dark"))
    assert read.description == "Use when: it's late and: dark"


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("# No front matter", "front matter", "line 1: a skill must start with a line of three hyphens"),
        ("---\nname: a\n", "front matter", "line 1: no line of three hyphens closes it"),
        (skill("- a\n- b"), "front matter", "line 2: must be a map of keys to values"),
        (skill("name: a\ndescription: 'd"), "front matter", "line 4, column 1: found unexpected end of stream"),
        (skill("name: a\ndescription: \x07"), "front matter", "line 3: the character U+0007 is not allowed"),
        (skill("name: &n a\ndescription: *n"), "front matter", "line 3: aliases are not allowed"),
        (skill("a: " + "[" * 40), "front matter", "line 2: nesting deeper than 32 levels is not allowed"),
        (skill("a: " + "x" * 1_048_576), "front matter", "is longer than 1,048,576 characters"),
        (skill("name: a\nname: b\ndescription: d"), "name", "line 3: the key is there twice"),
        (skill("? [a]\n: b\nname: a\ndescription: d"), "front matter", "line 2: a key must be plain text"),
        (skill("description: d"), "name", "is missing"),
        (skill("name: a"), "description", "is missing"),
        (skill("name: [a]\ndescription: d"), "name", "line 2: must be text, not a list or a map"),
        (skill("name: A-b\ndescription: d"), "name", "line 2: must be lower-case letters and digits"),
        (skill("name: a--b\ndescription: d"), "name", "line 2: must be lower-case letters and digits"),
        (skill("name: -a\ndescription: d"), "name", "line 2: must be lower-case letters and digits"),
        (skill(f"name: {'a' * 65}\ndescription: d"), "name", "line 2: must be at most 64 characters"),
        (skill(f"name: a\ndescription: {'d' * 1025}"), "description", "line 3: must be at most 1,024 characters"),
        (skill(f"name: a\ndescription: d\ncompatibility: {'c' * 501}"), "compatibility", "line 4: must be 1 to 500"),
        (skill("name: a\ndescription: d\nallowed-tools: {a: b}"), "allowed-tools", "line 4: must be text"),
        (skill("name: a\ndescription: d\nallowed-tools: [[a]]"), "allowed-tools", "line 4: must be a list of texts"),
        (skill("name: a\ndescription: d\nmetadata: text"), "metadata", "line 4: must be a map"),
        (skill("name: a\ndescription: d\nmetadata:\n  bin: x"), "metadata.bin", "line 5: must be skills_base or"),
        (skill("name: a\ndescription: d\nmetadata:\n  tags: '[1]'"), "metadata.tags", "line 5: must be a JSON list"),
        (skill("name: a\ndescription: d\nmetadata:\n  dsl_payload: '[]'"), "metadata.dsl_payload", "line 5: must be a"),
        (skill("name: a\ndescription: d\nmetadata: {title: ''}"), "title", "must be 1 to 500 characters"),
        (
            skill("name: a\ndescription: d\nmetadata: {dsl_payload: {a: 1e999}}"),
            "dsl_payload",
            "must not be infinite or a number beyond a double",
        ),
        (skill("name: a\ndescription: d", "\0"), "body", "must not hold a NUL character"),
        (
            skill("name: a\ndescription: d\nmetadata: {tags: ['\ud800']}"),
            "front matter",
            "line 4: the character U+D800",
        ),
        (skill('name: a\ndescription: d\nmetadata: {tags: ["\\0"]}'), "tags[0]", "must be 1 to 100 characters"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_key_and_line(text: str, path: str, message: str) -> None:
    found = problems(text, file="inbox/SKILL.md")
    assert found[path].startswith(message)
    with pytest.raises(InvalidInput, match=r"^inbox/SKILL\.md: "):
        agent_skill.parse(text, file="inbox/SKILL.md")


def test_all_problems_of_a_file_are_reported_at_once() -> None:
    found = problems(skill("name: A\ncompatibility: ''\nmetadata: {bin: x}"))
    assert set(found) == {"name", "description", "compatibility", "metadata.bin"}


def test_the_name_must_be_that_of_its_folder() -> None:
    assert problems(FOREIGN, folder="other")["name"] == "line 2: must be the name of its folder, other"


def test_a_tag_of_the_file_never_makes_an_object_of_the_host() -> None:
    read = agent_skill.parse(skill("name: a\ndescription: d\nmetadata: {x: !!python/name:os.system ''}"))
    assert read.metadata == {"x": ""}
