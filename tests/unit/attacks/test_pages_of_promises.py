"""SECURITY.md and the page about reliability name the test that shows each promise; each of them is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]


@pytest.mark.parametrize(("page", "least"), [("SECURITY.md", 20), ("docs/reliability.md", 15)])
def test_every_test_that_a_page_of_promises_names_is_there(page: str, least: int) -> None:
    named = set(re.findall(r"`(test_\w+)`", (PROJECT / page).read_text()))
    defined = {
        name
        for file in (PROJECT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert len(named) > least
    assert named <= defined
