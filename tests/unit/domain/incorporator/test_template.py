"""Instruction templates: plain placeholders are filled, and nothing is ever evaluated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.incorporator.template import fill

DATA: dict[str, object] = {
    "operation": "upload",
    "task": {"file": {"name": "report.pdf"}, "size": 3, "": "unnamed"},
    "braces": "{operation} {{x}}",
    "Zoë": "ja",
    "two words": "here",
    "0": "zero",
    "empty": "",
}
NAMES = st.text(st.characters(exclude_characters="{}[]!:.", exclude_categories=["Cs"]), min_size=1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("", ""),
        ("Wait.", "Wait."),
        ("Retry {operation} with backoff", "Retry upload with backoff"),
        ("{operation}{operation}", "uploadupload"),
        ("{task.file.name}", "report.pdf"),
        ("{Zoë}", "ja"),
        ("{two words}", "here"),
        ("{0}", "zero"),
        ("[{empty}]", "[]"),
        ("{{operation}}", "{operation}"),
        ("{{{operation}}}", "{upload}"),
        ("{{{{operation}}}}", "{{operation}}"),
        ("{{", "{"),
        ("}}", "}"),
        ("{{}}", "{}"),
        ("a }} {{ b", "a } { b"),
        ("{operation}}}", "upload}"),
        ("{{{operation}", "{upload"),
    ],
)
def test_placeholders_are_filled_and_double_braces_are_literal(template: str, filled: str) -> None:
    assert fill(template, DATA) == filled


@pytest.mark.parametrize(
    "template",
    [
        "{missing}",
        "Retry {operation} of {missing}",
        "{task.missing}",
        "{task.file.name.more}",
        "{operation.upper}",
        "{operation.__class__}",
        "{task.size.real}",
        "{task.__class__.__init__.__globals__}",
        "{ operation }",
        "{Operation}",
    ],
)
def test_one_missing_placeholder_leaves_the_raw_template(template: str) -> None:
    assert fill(template, DATA) == template


@pytest.mark.parametrize(
    "template",
    [
        "{",
        "}",
        "{operation",
        "operation}",
        "{}",
        "{.}",
        "{task.}",
        "{.task}",
        "{task..file}",
        "{operation!r}",
        "{operation:>10}",
        "{operation!r:>10}",
        "{task[file]}",
        "{task[file][name]}",
        "{operation:{width}}",
        "{{operation}",
        "{operation} }",
        '{"json": 1}',
        "{operation} {",
        "{{} {operation}",
    ],
)
def test_a_template_that_does_not_parse_is_used_as_it_stands(template: str) -> None:
    assert fill(template, DATA) == template


@pytest.mark.parametrize(
    ("value", "rendered"),
    [
        ("as it is \"'\\\n", "as it is \"'\\\n"),
        (1, "1"),
        (-0.5, "-0.5"),
        (1e300, "1e300"),
        (2**70, "1180591620717411303424"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ([], "[]"),
        ({}, "{}"),
        ([1, "a", None, {"b": [True]}], '[1,"a",null,{"b":[true]}]'),
        ({"a": {"b": "漢 \U0001f9ea"}}, '{"a":{"b":"漢 \U0001f9ea"}}'),
    ],
)
def test_strings_are_rendered_as_they_are_and_everything_else_as_compact_json(value: Any, rendered: str) -> None:
    assert fill("{a}|{b.c}", {"a": value, "b": {"c": value}}) == f"{rendered}|{rendered}"


def test_what_a_value_holds_is_not_filled_again() -> None:
    assert fill("{braces}", DATA) == "{operation} {{x}}"


def test_a_key_with_a_dot_in_it_is_no_path() -> None:
    assert fill("{a.b}", {"a.b": "no"}) == "{a.b}"


class Trap(dict[str, object]):
    """Tells when anything of it is looked up but a key."""

    def __getattribute__(self, name: str) -> object:
        if name in ("secret", "__format__", "__str__", "__repr__"):
            raise AssertionError(name)
        return super().__getattribute__(name)


def test_attributes_are_never_looked_up() -> None:
    trap = Trap(key="value")
    assert fill("{trap.key}", {"trap": trap}) == "value"
    assert fill("{trap.secret}", {"trap": trap}) == "{trap.secret}"


@given(TEXTS)
def test_any_text_without_data_is_itself_or_has_its_braces_halved(template: str) -> None:
    filled = fill(template, {})
    assert filled in (template, template.replace("{{", "{").replace("}}", "}"))


@given(TEXTS)
def test_doubling_the_braces_protects_any_text(text: str) -> None:
    assert fill(text.replace("{", "{{").replace("}", "}}"), {}) == text


@given(NAMES, TEXTS, TEXTS, TEXTS)
def test_any_value_arrives_unchanged_wherever_it_stands(name: str, value: str, before: str, after: str) -> None:
    def doubled(text: str) -> str:
        return text.replace("{", "{{").replace("}", "}}")

    template = f"{doubled(before)}{{{name}}}{doubled(after)}"
    assert fill(template, {name: value}) == f"{before}{value}{after}"


@given(st.lists(NAMES, min_size=1, max_size=8), TEXTS)
def test_a_path_may_be_of_any_depth(keys: list[str], value: str) -> None:
    data: object = value
    for key in reversed(keys):
        data = {key: data}
    assert isinstance(data, dict)
    assert fill("{" + ".".join(keys) + "}", data) == value
