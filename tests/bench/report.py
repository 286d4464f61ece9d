"""The tables of the JSON files: printed at the end of a run, and put into docs/performance.md.

`python -m tests.bench.report` rewrites what stands there between `<!-- figures: NAME -->` and `<!-- end -->`, and draws
the plots anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tests.bench import plots, results
from tests.bench.processes import ROOT
from tests.bench.tables import TABLES

PAGE = ROOT / "docs" / "performance.md"

_MARKED = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def text(folder: Path, names: Iterable[str]) -> str:
    """The tables of these experiments."""
    parts = []
    for name in names:
        found = results.read(folder, name)
        if found is not None:
            parts.append(f"## {name}\n\n{TABLES[name](found)}\n")
    return "\n".join(parts)


def filled(page: str) -> str:
    """The page with the tables of what is measured now."""
    return _MARKED.sub(_filled, page)


def _filled(mark: re.Match[str]) -> str:
    found = results.read(results.HERE, mark[2])
    if found is None:
        return f"{mark[1]}Not measured yet.\n{mark[3]}"
    machine, versions = found["machine"], found["versions"]
    commit = f"; commit {found['commit']}" if found.get("commit") else ""
    source = (
        f"*`tests/bench/results/{mark[2]}.json` of {found['at']}: {machine['processor']}, {machine['cores']} cores, "
        f"load {machine['load_average']} before; Python {versions['python']}, SQLite {versions['sqlite']}{commit}.*"
    )
    shown = plots.PLOTS.get(mark[2])
    image = f"\n![{shown[0]}](images/{plots.file_name(mark[2])})\n" if shown else ""
    return f"{mark[1]}{TABLES[mark[2]](found)}\n\n{source}\n{image}{mark[3]}"


def main() -> None:
    """Brings the page and its plots up to date."""
    PAGE.write_text(filled(PAGE.read_text()))
    plots.draw(results.HERE, ROOT / "docs" / "images")


if __name__ == "__main__":
    main()
