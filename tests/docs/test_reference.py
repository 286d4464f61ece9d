"""The generated pages are what the code says now; every page is reached, and nothing on them comes from elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from entrypoints.http.problem_kinds import TABLE
from tests.docs.blocks import PROJECT, name_of, pages
from tools.docs.pages import generated
from tools.docs.settings import settings
from tools.docs.settings_words import GROUPS, WORDS

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def test_every_setting_is_described_and_none_that_is_not_there() -> None:
    variables = {one.variable for one in settings()}
    assert variables - WORDS.keys() == set(), "say in tools/docs/settings_words.py what these do"
    assert WORDS.keys() - variables == set()
    assert sorted(name for group in GROUPS.values() for name in group) == sorted(variables)


@pytest.mark.parametrize("path", generated(PROJECT), ids=name_of)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated(PROJECT)[path], "make docs"


def test_every_kind_of_problem_is_on_the_page_of_errors() -> None:
    page = (PROJECT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    assert all(f"`/problems/{code}`" in page for code in TABLE)


def test_every_route_is_on_the_page_of_the_api() -> None:
    reference = PROJECT / "docs" / "reference"
    described = json.loads((reference / "openapi.json").read_text(encoding="utf-8"))
    page = (reference / "http-api.md").read_text(encoding="utf-8")
    for path, methods in described["paths"].items():
        if path.split("/")[1] not in ("schema", "problems"):
            assert all(f"### {method.upper()} {path}\n" in page for method in methods), path


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_where_degraded_is_shown_it_is_said_that_without_a_model_it_is_so_and_fine(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    if "`degraded`" in text:
        assert re.search(r"ANTHROPIC_API_KEY.{0,150}is fine", text), name_of(page)


def test_every_page_is_in_the_navigation_and_there() -> None:
    config = yaml.safe_load((PROJECT / "mkdocs.yml").read_text(encoding="utf-8"))
    named = sorted(_pages_in(config["nav"]))
    docs = PROJECT / "docs"
    assert named == sorted(str(page.relative_to(docs)) for page in docs.rglob("*.md"))


@pytest.mark.parametrize("page", [*pages(), PROJECT / "ARCHITECTURE.md"], ids=name_of)
def test_every_link_between_files_leads_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_the_site_loads_nothing_from_elsewhere() -> None:
    config = yaml.safe_load((PROJECT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert config["theme"]["font"] is False
    for page in (PROJECT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert "```mermaid" not in text, f"{name_of(page)}: the theme would fetch Mermaid from elsewhere"
        assert not re.search(r"!\[[^\]]*\]\(https?:|<(img|script|iframe|link)\b", text), name_of(page)


def _pages_in(navigation: object) -> list[str]:
    if isinstance(navigation, str):
        return [navigation]
    inside = navigation.values() if isinstance(navigation, dict) else navigation
    assert not isinstance(inside, str)
    return [page for one in inside for page in _pages_in(one)]  # type: ignore[attr-defined]
