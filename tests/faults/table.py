"""`python -m tests.faults.table` prints the kept results as a table and writes it into `docs/reliability.md`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.faults.tally import Count, read

PROJECT = Path(__file__).parents[2]
RESULTS = PROJECT / "tests/faults/results/faults.json"
PAGE = PROJECT / "docs/reliability.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
_COLUMNS = ("promise", "under", "form", "trials", "faults injected", "lost", "duplicated", "wrong")


def table(rows: Sequence[Count]) -> str:
    """In Markdown."""
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---|---|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        numbers = (row.trials, row.faults, row.lost, row.duplicated, row.wrong)
        cells = [row.promise, row.fault, row.form, *(f"{number:,}" for number in numbers)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def with_table(page: str, rows: Sequence[Count]) -> str:
    """The page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(rows)}\n{END}{after}"


if __name__ == "__main__":
    found = read(RESULTS)
    print(table(found))
    PAGE.write_text(with_table(PAGE.read_text(), found))
