"""A file that cannot be looked at is no end of looking."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.lessons.watch import SqliteWatch


def test_a_file_in_a_folder_that_may_not_be_searched_lets_the_store_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_path: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "exists", refused)
    watch = SqliteWatch(str(tmp_path / "lessons.db"))
    looks = [watch.look() for _ in range(3)]
    assert len(set(looks)) == 3
