"""The README shows what the demo prints."""

from __future__ import annotations

import re

from tests.docs.blocks import PROJECT
from tools.docs.demo import demo_output, with_demo


def test_the_readme_shows_what_the_demo_prints() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert with_demo(readme, demo_output()) == readme, "python -m tools.docs.demo"


def test_each_program_is_said_to_be_a_file_and_how_it_is_run() -> None:
    before, *programs = re.split(
        r"^```python$", (PROJECT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert len(programs) == 2
    for text in (before, *programs[:-1]):
        said = text.strip().splitlines()[-1]
        name = re.search(r"Save it as `(\w+\.py)`", said)
        assert name is not None, said
        assert f"run `python {name[1]}`" in said
