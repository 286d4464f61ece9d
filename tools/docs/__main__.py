"""Writes every generated page, or with `--check` names those that are not up to date and exits with 1."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.docs.pages import generated

ROOT = Path(__file__).parents[2]


def main(arguments: list[str]) -> int:
    stale = [
        path for path, text in generated(ROOT).items() if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in arguments:
        for path in stale:
            sys.stdout.write(f"not up to date: {path.relative_to(ROOT)} (make docs)\n")
        return 1 if stale else 0
    texts = generated(ROOT)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
        sys.stdout.write(f"written: {path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
