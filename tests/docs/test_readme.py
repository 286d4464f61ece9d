"""The README shows what the demo prints."""

from __future__ import annotations

from tests.docs.blocks import PROJECT
from tools.docs.demo import demo_output, with_demo


def test_the_readme_shows_what_the_demo_prints() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert with_demo(readme, demo_output()) == readme, "python -m tools.docs.demo"
