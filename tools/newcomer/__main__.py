"""Walks a newcomer's path from a clean clone, and prints how long each step takes.

    python3 -m tools.newcomer --data FOLDER

FOLDER holds `lessons.jsonl` and `queries-dev.jsonl`; without one, the project's own samples are taken. Everything
happens in a temporary folder. It needs Python, git and make: the project is cloned and installed as its first steps.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tools.newcomer.machine import Terminal, Unexpected
from tools.newcomer.material import material_in
from tools.newcomer.path import Newcomer, Walk

_PROJECT = Path(__file__).parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.newcomer", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=_PROJECT / "config" / "samples", help="the folder with the lessons"
    )
    parser.add_argument("--program", type=Path, help="an installed memorygrid: nothing is cloned and installed then")
    given = parser.parse_args()
    material = material_in(given.data)
    with tempfile.TemporaryDirectory(prefix="newcomer-") as folder:
        home = Path(folder) / "work"
        home.mkdir()
        walk, terminal = Walk(), Terminal(home)
        try:
            program = given.program.absolute() if given.program else _installed(walk, terminal, Path(folder) / "clone")
            Newcomer(walk, terminal, program, material).go()
        except Unexpected as error:
            sys.stderr.write(f"{error}\n")
            return 1
        walk.end()
    return 0


def _installed(walk: Walk, terminal: Terminal, clone: Path) -> Path:
    """`memorygrid` in the clean clone that `make setup` has set up."""

    def cloned() -> str:
        terminal.run("git", "clone", "--quiet", _PROJECT, clone)
        return "the last commit"

    def set_up() -> str:
        terminal.run("make", "setup", cwd=clone)
        return "an environment with all that the service and its tests need"

    walk.step("git clone", cloned)
    walk.step("make setup", set_up)
    return clone / ".venv" / "bin" / "memorygrid"


if __name__ == "__main__":
    sys.exit(main())
