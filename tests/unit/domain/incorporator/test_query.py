"""What an agent asks, and the text by which similar lessons are looked for."""

from __future__ import annotations

import msgspec
import pytest

from domain.incorporator.query import QueryInput, text_query
from tests.fakes.examples import query

BODY = {"session_id": "s1", "problem_solving_step_ref": "step-1", "problem_type": "flaky_upload"}


def test_three_fields_are_enough_and_unknown_ones_are_ignored() -> None:
    read = msgspec.convert({**BODY, "unknown": 1}, QueryInput)
    assert (read.current_task_context, read.system_state, read.additional_caller_data) == ({}, {}, {})


@pytest.mark.parametrize("field", list(BODY))
@pytest.mark.parametrize("value", ["a", "A ", " ", "Zoë", "\U0001f9ea" * 255, "a\u200db", "\u2028"])
def test_an_id_may_be_any_text_of_1_to_255_characters(field: str, value: str) -> None:
    assert getattr(msgspec.convert({**BODY, field: value}, QueryInput), field) == value


@pytest.mark.parametrize("field", list(BODY))
@pytest.mark.parametrize("value", ["", "a" * 256, "\x00", "a\n", "\n", "a\tb", "\x7f", "a\x85", "\x9f", 1, None])
def test_an_id_has_no_control_characters_and_is_a_text(field: str, value: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**BODY, field: value}, QueryInput)


@pytest.mark.parametrize("field", list(BODY))
def test_every_id_is_required(field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert({name: value for name, value in BODY.items() if name != field}, QueryInput)


def test_the_text_query_is_the_problem_type_and_a_line_for_each_value() -> None:
    asked = query(
        current_task_context={"operation": "upload", "file": {"name": "a.pdf", "size": 3}, "tags": ["x", {"y": True}]},
        system_state={"storage": "degraded"},
        additional_caller_data={"tier": "gold", "nothing": None, "blank": "", "empty": {}, "none": []},
    )
    assert text_query(asked).splitlines() == [
        "flaky_upload",
        "upload",
        "a.pdf",
        "3",
        "x",
        "True",
        "gold",
    ]


def test_without_contexts_the_text_query_is_the_problem_type() -> None:
    assert text_query(query(current_task_context={})) == "flaky_upload"


def test_a_value_of_several_lines_is_one_line_of_the_text_query() -> None:
    assert text_query(query(current_task_context={"log": "a\r\n\tb\u2028c ", "blank": " \n "})) == "flaky_upload\na b c"
