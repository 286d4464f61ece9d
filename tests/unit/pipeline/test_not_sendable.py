"""What JSON cannot carry is refused before anything is sent, by an error that names the field."""

from __future__ import annotations

from collections import UserDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from types import MappingProxyType
from typing import Literal, get_args
from uuid import UUID

import pytest

from memorygrid_incorporator.pipeline.incorporator_hook import NotSendable
from tests.unit.pipeline.callers import QUERY, Caller
from tests.unit.pipeline.service import Service

Field = Literal["current_task_context", "system_state", "additional_caller_data"]
FIELDS: tuple[Field, ...] = get_args(Field)
CIRCULAR: dict[str, object] = {}
CIRCULAR["again"] = CIRCULAR


@dataclass
class Load:
    mean: object


class Unreadable(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("the file is gone")

    def __len__(self) -> int:
        return 1


class Share(float):
    """As NumPy's float64, a float by another name."""


class Colour(str, Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"load": float("nan")}, "{}.load is nan: JSON has no such number"),
        ({"pods": [{"load": 1.0}, {"load": float("-inf")}]}, "{}.pods[1].load is -inf"),
        ({"load": Load(float("inf"))}, "{}.load.mean is inf"),
        ({"loads": {float("nan")}}, "{}.loads[0] is nan"),
        ({7: {"load": (0.0, float("nan"))}}, "{}.7.load[1] is nan"),
        ({"handles": [object()]}, "{}.handles[0] is an object of type object, which JSON has no form for"),
        ({"load": Load(object())}, "{}.load is an object of type Load, which JSON has no form for"),
        ({(1, 2): "a pair"}, "a key of {} is (1, 2): JSON has texts as keys, and none of type tuple"),
        ({"by": {None: 1}}, "a key of {}.by is None: JSON has texts as keys, and none of type NoneType"),
        ({True: 1}, "a key of {} is True: JSON has texts as keys, and none of type bool"),
        ({float("nan"): 1}, "a key of {} is nan: JSON has no such number"),
        ({1: "a", "1": "b"}, "{} has two keys that are both '1' in JSON"),
        ({"by": Unreadable()}, "{}.by cannot be read: the file is gone"),
        (CIRCULAR, "{} holds itself, or is nested too deeply"),
        ({"text": "\ud800"}, "{}.text is a text that is no Unicode"),
        ({"\ud800": 1}, "a key of {} is a text that is no Unicode"),
    ],
)
@pytest.mark.parametrize("field", FIELDS)
def test_a_context_that_json_cannot_carry_is_refused_and_the_field_named_also_where_none_is_the_answer_to_no_match(
    caller: Caller, service: Service, field: Field, value: Mapping[str, object], said: str
) -> None:
    query = QUERY.copy()
    query[field] = value
    with pytest.raises(NotSendable) as caught:
        caller.invoke_or_none(query)
    assert str(caught.value).startswith(said.format(field))
    assert service.received == []


def test_it_is_a_value_error_as_for_every_argument_that_cannot_be_used() -> None:
    assert issubclass(NotSendable, ValueError)


def test_dates_ids_dataclasses_and_mappings_of_every_kind_are_sent(caller: Caller, service: Service) -> None:
    context = {
        "at": datetime(2026, 10, 22, tzinfo=timezone.utc),
        "id": UUID(int=1),
        "load": Load(0.5),
        "user": UserDict(name="ann"),
        "none": None,
        "share": Share(0.25),
        "colour": Colour.RED,
        "last": deque([1, 2]),
        "by_number": {7: 2**70},
    }
    caller.invoke_or_none({**QUERY, "current_task_context": MappingProxyType(context)})
    assert service.received[0].body["current_task_context"] == {
        "at": "2026-10-22T00:00:00Z",
        "id": "00000000-0000-0000-0000-000000000001",
        "load": {"mean": 0.5},
        "user": {"name": "ann"},
        "none": None,
        "share": 0.25,
        "colour": "red",
        "last": [1, 2],
        "by_number": {"7": 2**70},
    }
