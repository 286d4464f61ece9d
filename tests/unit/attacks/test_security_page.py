"""SECURITY.md names the test that shows each promise; each of them is there."""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).parents[3]


def test_every_test_that_the_security_page_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", (PROJECT / "SECURITY.md").read_text()))
    defined = {
        name
        for file in (PROJECT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert len(named) > 20
    assert named <= defined
