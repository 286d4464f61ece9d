"""Puts what `make demo` prints into the README: `python -m tools.docs.demo`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PLACE = re.compile(r"(<!-- demo -->\n).*?(<!-- end of demo -->)", re.DOTALL)
_REAL = re.compile(r"(?<=Everything below is real: )a\s+service\s+at.*?story-\w+\.", re.DOTALL)


def demo_output() -> str:
    """The demo's output with `…` for what differs from run to run."""
    done = subprocess.run(
        [sys.executable, "-m", "entrypoints.demo"],
        cwd=_ROOT,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1", "TERM": "dumb"},
        capture_output=True,
        text=True,
        timeout=170,
        check=True,
    )
    real = "a service at http://127.0.0.1:…,\n   with databases of its own in .demo/story-…"
    text = re.sub(r"in \d+\.\d s\.", "in … s.", _REAL.sub(real, done.stdout))
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def with_demo(readme: str, output: str) -> str:
    """The README with this output in its place."""
    said = "<!-- not run: it is what `make demo` prints, and a test compares it -->"
    shown = f"<details>\n<summary>What <code>make demo</code> prints</summary>\n\n{said}\n\n```text\n{output}```\n\n"
    return _PLACE.sub(lambda place: f"{place[1]}\n{shown}</details>\n\n{place[2]}", readme)


if __name__ == "__main__":
    path = _ROOT / "README.md"
    path.write_text(with_demo(path.read_text(encoding="utf-8"), demo_output()), encoding="utf-8")
