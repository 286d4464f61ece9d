"""The page on performance shows what the benchmark's JSON files hold."""

from __future__ import annotations

from tests.bench import report


def test_each_table_of_the_page_is_the_one_that_its_figures_give() -> None:
    page = report.PAGE.read_text(encoding="utf-8")

    assert report.filled(page) == page
    assert "Not measured yet." not in page
