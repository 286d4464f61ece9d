"""The plots, drawn from the JSON files. matplotlib is imported by name: only the benchmark has it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.bench import results

Figures = Mapping[str, Any]


def draw(folder: Path, images: Path) -> None:
    """A PNG of each experiment that has one and has been run."""
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    images.mkdir(parents=True, exist_ok=True)
    for name, (_, plot) in PLOTS.items():
        found = results.read(folder, name)
        if found is not None:
            figure = plot(pyplot, found)
            figure.tight_layout()
            figure.savefig(images / file_name(name), dpi=110)
            pyplot.close(figure)


def file_name(name: str) -> str:
    """Of an experiment's plot."""
    return f"bench-{name.replace('_', '-')}.png"


def _hot_path(pyplot: Any, found: Figures) -> Any:
    """Throughput over the no-op's, by the number of connections."""
    paths = list(dict.fromkeys(one["path"] for one in found["points"]))
    figure, axes = pyplot.subplots(1, len(paths), figsize=(9, 3.6), sharey=True)
    for axis, path in zip(axes, paths, strict=True):
        for server in ("no-op", "service", "naive"):
            points = [one for one in found["points"] if (one["path"], one["server"]) == (path, server)]
            axis.plot(
                [str(one["connections"]) for one in points],
                [one["throughput_ratio"] for one in points],
                marker="o",
                label=server,
            )
        axis.set(title=path, xlabel="connections", ylim=(0, 1.1))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("throughput, no-op = 1")
    axes[0].legend()
    return figure


def _group_commit(pyplot: Any, found: Figures) -> Any:
    """Selections recorded a second, by the number of callers."""
    figure, axis = pyplot.subplots(figsize=(6, 3.6))
    for store in dict.fromkeys(one["store"] for one in found["rates"]):
        points = [one for one in found["rates"] if one["store"] == store]
        axis.plot([one["callers"] for one in points], [one["per_second"] for one in points], marker="o", label=store)
    axis.set(xscale="log", yscale="log", xlabel="callers at once", ylabel="selections a second")
    axis.set_xticks([1, 4, 16, 64], ["1", "4", "16", "64"])
    axis.grid(alpha=0.3, which="both")
    axis.legend()
    return figure


def _growth(pyplot: Any, found: Figures) -> Any:
    """Processor time of a request, by what has piled up, and the reads."""
    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.6))
    for axis, (name, what) in zip(
        axes, (("by_entries", "feedback entries"), ("by_lessons", "promoted lessons")), strict=False
    ):
        for path in dict.fromkeys(one["path"] for one in found[name]):
            points = [one for one in found[name] if one["path"] == path]
            axis.plot(
                [one["size"] for one in points], [one["figures"]["cpu_us"] for one in points], marker="o", label=path
            )
        axis.set(xlabel=what, ylabel="CPU µs a request")
    for read in dict.fromkeys(one["what"] for one in found["reads"]):
        points = [one for one in found["reads"] if one["what"] == read]
        axes[2].plot(
            [one["size"] for one in points], [one["times"]["p50_ms"] for one in points], marker="o", label=read
        )
    axes[2].set(xlabel="feedback entries", ylabel="p50 ms")
    for axis in axes:
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    return figure


PLOTS: Mapping[str, tuple[str, Callable[[Any, Figures], Any]]] = {
    "hot_path": ("Throughput over the no-op's, by the number of connections", _hot_path),
    "group_commit": ("Selections recorded a second, by the number of callers", _group_commit),
    "growth": ("Processor time by feedback entries and by lessons", _growth),
}
"""Each experiment's plot, with what it shows in words."""
