"""What is put into pages between two marks: figures of measurements that are kept as JSON, and whole example files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tools.docs.markdown import table

_PLACE = re.compile(r"(<!-- figures: (?P<name>[a-z-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def with_figures(text: str, results: Path) -> str:
    """The page with each place for figures filled from the results that there are."""

    def filled(place: re.Match[str]) -> str:
        return f"{place[1]}\n{_FIGURES[place['name']](results)}\n\n{place[3]}"

    return _PLACE.sub(filled, text)


def _quality(results: Path) -> str:
    measured = json.loads((results / "quality.json").read_text(encoding="utf-8"))
    rows = [
        [name, form, stage, *(f"{found[figure]:.3f}" for figure in ("top_1", "top_5", "mrr"))]
        for name, of_one in measured["embedders"].items()
        for form, stages in of_one["quality"].items()
        for stage, found in stages.items()
        if stage == "hybrid" or form == "raw"
    ]
    about = (
        f"{measured['alerts']} alert texts against {measured['lessons']} runbooks; Python {measured['python']}, "
        f"NumPy {measured['numpy']}."
    )
    return about + "\n\n" + table(["embedder", "query", "ranking", "top 1", "top 5", "MRR"], rows)


def _refusal(results: Path) -> str:
    measured = json.loads((results / "quality.json").read_text(encoding="utf-8"))
    rows = [
        [
            name,
            f"{of_one['relevance_floor']:g}",
            form,
            f"{found['alerts_kept']:.0%}",
            f"{found['off_topic_refused']:.0%}",
        ]
        for name, of_one in measured["embedders"].items()
        for form, found in of_one["refusal"].items()
    ]
    about = f"{measured['off_topic_questions']} questions from other fields, {measured['alerts']} alerts."
    return about + "\n\n" + table(["embedder", "floor", "query", "alerts matched", "other questions refused"], rows)


def _sizing(results: Path) -> str:
    """How much one process serves and holds, from the benchmark's own files where they are there."""
    parts = []
    if (results / "hot_path.json").is_file():
        points = json.loads((results / "hot_path.json").read_text(encoding="utf-8"))["points"]
        rates: dict[str, float] = {}
        for one in points:
            if one["server"] == "service":
                rates[one["path"]] = max(rates.get(one["path"], 0), one["figures"]["per_second"])
        rows = [[path, f"{rate:,.0f}"] for path, rate in rates.items()]
        parts.append(table(["path, one process on SQLite", "requests a second at most"], rows))
    if (results / "growth.json").is_file():
        memory = json.loads((results / "growth.json").read_text(encoding="utf-8"))["memory"]
        held = [
            [f"{int(size):,}", f"{one['memory']['resident']:,}", f"{one['started_in_s']}"]
            for size, one in memory.items()
        ]
        parts.append(table(["promoted lessons, `memory` vectors", "resident MB", "start s"], held))
    found = "\n\n".join(parts) or "Not measured yet."
    return f"{found}\n\n[Performance](performance.md) says on which machine, and how."


def _example(name: str) -> Callable[[Path], str]:
    def shown(results: Path) -> str:
        text = (results.parents[2] / "examples" / name).read_text(encoding="utf-8")
        said = "<!-- not run: tests/docs/test_agents.py runs this file -->"
        return f'{said}\n\n```python title="examples/{name}"\n{text}```'

    return shown


_SHARES = ("alerts_kept", "off_topic_refused")
_FIGURES: dict[str, Callable[[Path], str]] = {
    "quality": _quality,
    "refusal": _refusal,
    "sizing": _sizing,
    "langgraph": _example("langgraph_agent.py"),
    "anthropic": _example("anthropic_tool_loop.py"),
}
