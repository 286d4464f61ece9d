"""What the trials of a promise came to: counted by the tests, kept as JSON, shown as a table in the documentation."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

LONG = os.environ.get("FAULTS") == "long"


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `lost` were acknowledged and are gone, `duplicated` had more than one effect, `wrong` is all else."""

    promise: str
    fault: str
    trials: int
    faults: int
    lost: int = 0
    duplicated: int = 0
    wrong: int = 0
    form: str = "long" if LONG else "short"


class Tally:
    """Collects the rows of a run; those of an earlier run that this one did not repeat stay."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._rows: dict[tuple[str, str], Count] = {}

    def add(self, count: Count, details: object = None) -> None:
        """Keeps the row, then fails the test if anything was lost, duplicated or wrong; `details` tell what."""
        self._rows[count.promise, count.fault] = count
        self._write()
        assert (count.lost, count.duplicated, count.wrong) == (0, 0, 0), (count, details)

    def _write(self) -> None:
        if self._path is None:
            return
        earlier = read(self._path) if self._path.exists() else []
        rows = {(row.promise, row.fault): row for row in earlier} | self._rows
        self._path.parent.mkdir(parents=True, exist_ok=True)
        ordered = [msgspec.to_builtins(rows[key]) for key in sorted(rows)]
        self._path.write_text(json.dumps(ordered, indent=1) + "\n")


def read(path: Path) -> Sequence[Count]:
    return msgspec.json.decode(path.read_bytes(), type=list[Count])
