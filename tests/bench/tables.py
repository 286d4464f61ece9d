"""The tables, each made from the figures of one experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.bench.markdown import Figures, table
from tests.bench.peer_tables import peers


def _hot_path(found: Figures) -> str:
    rows = [
        (
            one["path"],
            one["connections"],
            one["server"],
            f"{one['figures']['per_second']:,.0f}",
            f"{one['throughput_ratio']:.2f}",
            one["figures"]["p50_ms"],
            one["figures"]["p99_ms"],
            f"{one['figures']['cpu_us']:.0f}",
            f"{one['cpu_ratio']:.2f}",
        )
        for one in found["points"]
    ]
    head = ("path", "connections", "server", "requests/s", "× no-op", "p50 ms", "p99 ms", "CPU µs", "CPU × no-op")
    return table(head, rows)


def _stages(found: Figures) -> str:
    return table(("stage", "CPU µs a request"), [(one["name"], f"{one['cpu_us']:.1f}") for one in found["stages"]])


def _group_commit(found: Figures) -> str:
    rates = {(one["store"], one["callers"]): one["per_second"] for one in found["rates"]}
    stores, callers = list(dict.fromkeys(store for store, _ in rates)), sorted({count for _, count in rates})
    rows = [
        (store, *(f"{rates[store, count]:,.0f}" for count in callers), f"{rates[store, 64] / rates[store, 1]:.1f}")
        for store in stores
    ]
    return table(("selections recorded a second", *(f"{count} callers" for count in callers), "64 over 1"), rows)


def _growth(found: Figures) -> str:
    tables = []
    for name, what in (("by_entries", "feedback entries"), ("by_lessons", "promoted lessons")):
        rows = [
            (
                one["path"],
                f"{one['size']:,}",
                one["figures"]["p50_ms"],
                f"{one['figures']['cpu_us']:.0f}",
                f"{one['cpu_growth']:.2f}",
            )
            for one in found[name]
        ]
        tables.append(table(("path", what, "p50 ms", "CPU µs", "CPU × smallest"), rows))
    reads = [
        (one["what"], f"{one['size']:,}", one["times"]["p50_ms"], one["times"]["p99_ms"]) for one in found["reads"]
    ]
    tables.append(table(("read", "feedback entries", "p50 ms", "p99 ms"), reads))
    held = [
        (f"{int(size):,}", one["memory"]["resident"], one["memory"]["own"], one["started_in_s"])
        for size, one in found["memory"].items()
    ]
    tables.append(table(("promoted lessons", "resident MB", "own MB", "start s"), held))
    return "\n\n".join(tables)


def _search(found: Figures) -> str:
    rows = [
        (
            f"{one['lessons']:,}",
            f"{one['vectors']:,} × {one['dimension']:,}",
            one["index"]["p50_ms"],
            one["numpy"]["p50_ms"],
            f"{one['index']['p50_ms'] / one['numpy']['p50_ms']:.2f}",
            f"{one['index']['cpu_ms'] / one['numpy']['cpu_ms']:.2f}",
            f"{one['recall']:.3f}",
            one["whole_search"]["p50_ms"],
            f"{one['memory']['own'] - one['memory_before']['own']:,.0f}",
            one["phrase"]["p50_ms"],
            one["like"]["p50_ms"],
            f"{one['like']['p50_ms'] / one['phrase']['p50_ms']:.0f}",
        )
        for one in found["catalogs"]
    ]
    head = (
        *("lessons", "vectors", "top-10 ms", "NumPy ms", "×", "CPU ×", "recall@10", "whole search ms", "catalog MB"),
        *("phrase ms", "LIKE ms", "faster ×"),
    )
    return table(head, rows)


def _catalog_changes(found: Figures) -> str:
    rows = [
        (
            f"{one['lessons']:,}",
            one["promotion"]["p50_ms"],
            one["promotion"]["cpu_ms"],
            one["matchable"]["p50_ms"],
            one["matchable"]["cpu_ms"],
            one["refresh"]["p50_ms"],
            one["refresh"]["cpu_ms"],
            f"{1e3 * one['look']['p50_ms']:.1f}",
        )
        for one in found["catalogs"]
    ]
    head = (
        *("lessons", "promotion ms", "its CPU ms", "matchable after ms", "CPU ms until then"),
        *("noticed elsewhere ms", "its CPU ms", "look without change µs"),
    )
    return table(head, rows)


def _llm_path(found: Figures) -> str:
    one = found["found"]
    row = (
        f"{one['lessons']:,}",
        one["invoke"]["p50_ms"],
        one["exchange"]["p50_ms"],
        one["sdk"]["p50_ms"],
        one["added_ms"],
        one["own_ms"],
        round(one["invoke"]["cpu_us"] / 1e3, 2),
    )
    head = ("lessons", "invoke p50 ms", "bare exchange ms", "the SDK's ms", "added ms", "without the SDK ms", "CPU ms")
    staged = found["staged"]
    rows = [
        *((part["name"], part["p50_ms"]) for part in staged["stages"]),
        ("**all of it**", staged["invoke_ms"]),
        ("all of it but asking the model", staged["not_asking_ms"]),
    ]
    parts = [(what, took, f"{took / staged['invoke_ms']:.2f}") for what, took in rows]
    return f"{table(head, [row])}\n\n{table(('stage', 'p50 ms', 'of all'), parts)}"


def _start_up(found: Figures) -> str:
    rows = [
        (one["server"], one["start_s"], one["longest_s"], one["resident_mb"], one["own_mb"]) for one in found["servers"]
    ]
    starts = table(("server", "start s (median)", "longest s", "resident MB", "own MB"), rows)
    return f"{starts}\n\nOf the heavy modules it imports: {', '.join(found['imported']) or 'none'}."


def _vector_stores(found: Figures) -> str:
    rows: list[Sequence[object]] = []
    for one in found["stores"]:
        held = (one["store"], f"{one['lessons']:,}", one["seconds_to_fill"], f"{one['memory_mb']:,.0f}")
        if one["problem"] is not None:
            rows.append((*held, one["problem"], "", "", "", ""))
            continue
        times = (one["nearest"]["p50_ms"], one["nearest"]["p99_ms"], one["nearest_in_a_bin"]["p50_ms"])
        rows.append((*held, *times, one["change"]["p50_ms"], f"{one['recall']:.3f}"))
    head = (
        "store",
        "lessons",
        "filled in s",
        "MB",
        "top-10 p50 ms",
        "p99 ms",
        "in a bin ms",
        "one change ms",
        "recall@10",
    )
    return table(head, rows)


TABLES: Mapping[str, Callable[[Figures], str]] = {
    "hot_path": _hot_path,
    "stages": _stages,
    "group_commit": _group_commit,
    "growth": _growth,
    "search": _search,
    "catalog_changes": _catalog_changes,
    "llm_path": _llm_path,
    "start_up": _start_up,
    "peers": peers,
    "vector_stores": _vector_stores,
}
