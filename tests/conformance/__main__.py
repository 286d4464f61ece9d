"""`python -m tests.conformance SUITE [PAIR …]`: runs the suite once on each pair of engines, and says how it went."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.conformance.plugin import python_on
from tests.servers import storage


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("suite", type=Path, help="the suite's folder; it starts the service by the program in MG_PY")
    parser.add_argument("pairs", nargs="*", default=storage.PAIRS, help="for example postgres+pgvector; all by default")
    given = parser.parse_args()
    for pair in given.pairs:
        try:
            reason = storage.unavailable(pair)
        except ValueError as error:
            parser.error(str(error))
        if reason is not None:
            parser.error(f"{pair} cannot be had here: {reason}")
    results = {pair: _passed(given.suite, pair) for pair in given.pairs}
    return 0 if all(results.values()) else 1


def _passed(suite: Path, pair: str) -> bool:
    begun = time.monotonic()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        os.devnull,
        "--rootdir",
        str(suite),
        "-p",
        "no:cacheprovider",
        "-q",
    ]
    with tempfile.TemporaryDirectory(prefix="memorygrid-conformance-") as folder:
        done = subprocess.run(
            [*command, "-p", "tests.conformance.plugin", "--pair", pair, str(suite)],
            env={**os.environ, "MG_PY": str(python_on(Path(folder)))},
            check=False,
        )
    said = "passed" if done.returncode == 0 else f"failed (pytest ended with {done.returncode})"
    sys.stdout.write(f"{suite} on {pair}: {said}, {time.monotonic() - begun:.0f} s\n")
    sys.stdout.flush()
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
