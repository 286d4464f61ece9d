"""The check for other processes' changes, as a test pulls its string."""

from __future__ import annotations

from application.learner.ports import CatalogWatch


class FakeWatch(CatalogWatch):
    """`stir` makes the next look differ from the last one; `looks` counts them."""

    def __init__(self) -> None:
        self.looks = 0
        self._number = 0

    def stir(self) -> None:
        self._number += 1

    def look(self) -> int:
        self.looks += 1
        return self._number
