"""The benchmark: `python -m tests.bench [--quick] [--only NAME …] [--results DIR]`.

Each experiment has a JSON file for its figures, the machine and the versions; tables are printed at the end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.bench import (
    catalog_changes,
    group_commit,
    growth,
    hot_path,
    llm_path,
    peers,
    report,
    results,
    search,
    stages,
    start_up,
    vector_stores,
)
from tests.bench.scale import FULL, QUICK, Scale

Experiment = Callable[[Scale], Mapping[str, object]]

EXPERIMENTS: Mapping[str, Experiment] = {
    "hot_path": hot_path.run,
    "stages": stages.run,
    "group_commit": group_commit.run,
    "growth": growth.run,
    "search": search.run,
    "catalog_changes": catalog_changes.run,
    "llm_path": llm_path.run,
    "start_up": start_up.run,
    "peers": peers.run,
    "vector_stores": vector_stores.run,
}
_ASKED_FOR = ("peers", "vector_stores")
"""Experiments that run only where `--only` names them."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the service; see docs/performance.md.")
    parser.add_argument("--quick", action="store_true", help="smaller and shorter, results to a temporary folder")
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, help="these experiments")
    parser.add_argument("--results", type=Path, help="where the figures go")
    given = parser.parse_args()
    folder = given.results or (
        Path(tempfile.mkdtemp(prefix="memorygrid-bench-results-")) if given.quick else results.HERE
    )
    scale = QUICK if given.quick else FULL
    names = given.only or [name for name in EXPERIMENTS if name not in _ASKED_FOR]
    for name in names:
        began, machine, commit = time.perf_counter(), results.machine(), results.commit()
        results.write(folder, name, scale, EXPERIMENTS[name](scale), machine=machine, commit=commit)
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    print(report.text(folder, names))
    print(f"The figures are in {folder}.")


if __name__ == "__main__":
    main()
