"""The tables of the comparison with other stores."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.markdown import Figures, table

_JOBS = {"vectors": "{} vectors", "lessons": "{} lessons", "add_vector": "add a vector", "add_lesson": "add a lesson"}
_SEARCHES = ("vectors", "lessons")
_ADDITIONS = {"add_vector": "a vector", "add_lesson": "a lesson", "promotion": "a whole promotion"}


def peers(found: Figures) -> str:
    """Times and recall, what is made durable, and where the time of our addition goes."""
    notes = [_asked(one, found["top"]) for one in found["found"] if one["asked"]]
    return "\n\n".join([_times(found), *([" ".join(notes)] if notes else []), _durability(found), _addition(found)])


def _times(found: Figures) -> str:
    head = [""]
    for job, title in _JOBS.items():
        head += [f"{title.format(found['top'])} ms", "× ours", *(["recall@10"] if job in _SEARCHES else [])]
    head.append("whole promotion ms")
    rows: list[Sequence[object]] = []
    for one in found["found"]:
        cells: list[object] = [one["name"]]
        if one["problem"] is not None:
            cells.append(one["problem"])
        else:
            cells += [cell for job in _JOBS for cell in _cells(one, job)]
            cells += [one["figures"]["promotion"]["p50_ms"]] if "promotion" in one["figures"] else []
        rows.append([*cells, *[""] * (len(head) - len(cells))])
    return table(head, rows)


def _cells(one: Figures, job: str) -> list[object]:
    figure = one["figures"].get(job)
    of_search = [f"{one['recall'][job]:.3f}" if job in one["recall"] else ""] if job in _SEARCHES else []
    return ["", "", *of_search] if figure is None else [figure["p50_ms"], _spread(figure["ratio"]), *of_search]


def _asked(one: Figures, top: int) -> str:
    return (
        f"{one['name']}: its {top} nearest vectors are of {one['among']} lessons on average; to have {top} lessons, it "
        f"was asked for {one['asked']} vectors at most."
    )


def _durability(found: Figures) -> str:
    rows = [
        (one["name"], _ADDITIONS[job], f"{counted['bytes_written'] / 1e3:,.0f}", counted["account"], _flushes(counted))
        for one in found["found"]
        for job, counted in one["durability"].items()
    ]
    return table(("", "addition of", "kB written", "by the account", "flushes"), rows)


def _flushes(counted: Figures) -> str:
    if counted["flushes"] is None:
        return f"not counted: {counted['not_counted']}"
    return ", ".join(f"{times:g} {name}" for name, times in counted["flushes"].items()) or "none"


def _addition(found: Figures) -> str:
    ours = found["found"][0]["figures"]["add_lesson"]
    row_bytes = f"{found['row_bytes']:,} bytes"
    floors = {
        f"a transaction of bare SQLite with one row of {row_bytes}": found["bare_transaction"],
        f"a flush of the disk for {row_bytes}": found["bare_flush"],
    }
    rows = [
        *((one["name"], one["p50_ms"], _spread(one["of_whole"], 2)) for one in found["parts"]),
        ("**the whole addition**", ours["p50_ms"], "1"),
        *((what, one["p50_ms"], _spread(one["of_whole"], 2)) for what, one in floors.items()),
    ]
    return table(("our addition of a lesson", "p50 ms", "of the whole"), rows)


def _spread(ratio: Figures, digits: int = 1) -> str:
    """The median, with the smallest and the largest of a round where they differ from it."""
    if ratio["least"] == ratio["most"]:
        return f"{ratio['median']:g}"
    least, median, most = (f"{ratio[name]:,.{digits}f}" for name in ("least", "median", "most"))
    return f"{median} ({least}–{most})"
